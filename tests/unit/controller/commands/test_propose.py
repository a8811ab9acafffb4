"""`centavo propose` on a training that runs in the small world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.cli import parser
from controller.commands.context import Context
from controller.commands.propose import propose
from controller.domain import Decision, Fleet, Verdict
from controller.domain.errors import StoppedError
from controller.domain.reasons import Said
from controller.loop import Optimizer
from controller.observe.prices.book import PriceBook
from controller.record.journal import Stage
from controller.record.live.reporter import PlainReporter
from controller.review.proposing.proposal import ProposalError
from tests.support.github import FakeGitHub
from tests.unit.controller.harness import Controller
from tests.unit.controller.world import World

PASSES_BEFORE = 4


class Desk(Context):
    """A context whose cluster and policy are those of the small world."""

    one: Controller

    def cluster(self, journal: Any) -> Any:
        return self.one.cluster

    def decider(self, cluster: Any, policy: str) -> Any:
        return self.one._decider()


@pytest.fixture
def desk(world: World, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A training that was optimised for some passes without ever being allowed to move; then a person stopped that."""
    one = Controller(world, checkout)
    passes = 0

    def nobody_approves(decision: Decision) -> Fleet | None:
        nonlocal passes
        passes += 1
        if passes >= PASSES_BEFORE:
            raise StoppedError("Stopped.")
        return None

    optimizer = Optimizer(
        one.environment,
        one.cluster,
        one.journal,
        one.clock,
        PlainReporter(),
        one._decider(),
        one.bring_up,
        nobody_approves,
    )
    with pytest.raises(StoppedError):
        optimizer.run()
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_REPOSITORY", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    made = Desk(one.environment, one.clock, PlainReporter())  # type: ignore[arg-type]
    made.book = PriceBook(lambda wanted: one.prices)
    made.one = one
    return made


def run(desk: Desk) -> int:
    options = parser().parse_args(["propose"])
    assert options.command is propose
    return propose(desk, options)


def test_where_github_can_not_be_asked_the_body_and_the_command_are_printed(
    desk: Desk, github: FakeGitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(desk) == 0
    shown = capsys.readouterr().out
    assert "## Move `test` from `1 x c5.large, 1 x c5.xlarge, 1 x t2.medium` to `3 x c5.large`" in shown
    command = shown.strip().splitlines()[-1]
    assert command.startswith(
        "gh pr create --head centavo/test/capacity --base main --title 'Move test to 3 x c5.large'"
    )
    body = Path(command.split("--body-file ")[1])
    assert body.read_text() in shown and "centavo:proposal" in body.read_text()
    assert github.git("rev-list", "--count", "main..centavo/test/capacity") == "1"
    assert not github.pulls


def test_with_a_token_the_pull_request_is_opened_and_the_fleet_stays(
    desk: Desk, world: World, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in github.environ.items():
        monkeypatch.setenv(name, value)
    before = world.fleet()
    assert run(desk) == 0
    assert "it waits for a merge" in capsys.readouterr().out and len(github.open) == 1
    assert world.fleet() == before


def test_a_wish_that_is_gone_closes_what_was_proposed(
    desk: Desk, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in github.environ.items():
        monkeypatch.setenv(name, value)
    run(desk)
    decide = desk.one._decider()

    def stay(*given: Any) -> Decision:
        decision = decide(*given)
        return replace(decision, verdict=Verdict.STAY, target=decision.current, reason=Said("the price has risen"))

    monkeypatch.setattr(desk, "decider", lambda cluster, policy: stay)
    assert run(desk) == 0
    shown = capsys.readouterr().out
    assert f"Nothing to propose: the price has risen\nClosed {github.pulls[0]['html_url']}." in shown
    assert not github.open and github.comments[0][1].endswith("the price has risen")


def test_without_a_training_there_is_nothing_to_propose(desk: Desk) -> None:
    desk.one.journal.set_stage(Stage.ENDED)
    with pytest.raises(ProposalError, match="No training runs"):
        run(desk)
