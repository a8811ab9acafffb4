"""`centavo optimize --detach`: what is refused before a run is made, and a checkout whose run went on at the head."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from controller.cli import parser
from controller.commands.context import Context, open_context
from controller.commands.shared import owned
from controller.commands.shared.detaching import is_detached, told
from controller.commands.shared.unfinished import unfinished_here
from controller.domain.errors import ConfigError, LockedError
from controller.domain.lease import Lease, Place
from controller.edges.clock import SystemClock
from controller.owning.keys import JOURNAL_NAME, LEASE, of_run
from controller.owning.lease_document import to_document
from controller.record.journal import Journal, Stage
from controller.record.live.reporter import PlainReporter
from tests.unit.controller.commands.command_line import Captured, centavo
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, claim
from tests.unit.controller.record import synthetic


@pytest.fixture
def context(root: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setattr("controller.commands.context.export", lambda environment: None)
    return open_context(root, "test", PlainReporter(), SystemClock())


def edited(root: Path, section: str, **values: object) -> None:
    file = root / "terraform" / "environments" / "test" / "centavo.yml"
    settings = yaml.safe_load(file.read_text())
    settings[section] |= values
    file.write_text(yaml.safe_dump(settings))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--via", "pull-request"], "has no repository"),
        (["--metrics", "9000"], "serves no metrics here"),
    ],
)
def test_what_the_head_can_not_do_is_refused_before_a_run_is_made(
    root: Path, context: Context, options: list[str], error: str
) -> None:
    with pytest.raises(ConfigError, match=error):
        is_detached(context, parser().parse_args(["optimize", "--detach", *options]))
    assert not (root / "runs").exists()


def test_a_machine_whose_terraform_the_head_can_not_run_is_refused_before_a_run_is_made(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(root, "nodes", wheelhouse={"python": "3.11", "glibc": "2.36"})
    monkeypatch.setattr("controller.commands.context.export", lambda environment: None)
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    made = open_context(root, "test", PlainReporter(), SystemClock())
    with pytest.raises(ConfigError, match="this machine is Linux on arm64"):
        is_detached(made, parser().parse_args(["optimize", "--detach"]))
    assert not (root / "runs").exists()


def test_the_setting_counts_unless_the_command_line_says_otherwise(root: Path, context: Context) -> None:
    def asked(*options: str) -> bool:
        return is_detached(open_context(root, "test", PlainReporter(), SystemClock()), parser().parse_args(options))

    assert not asked("optimize") and asked("optimize", "--detach")
    edited(root, "controller", detach=True)
    assert asked("optimize") and not asked("optimize", "--no-detach")


def test_a_run_that_has_ended_is_not_begun_anew(root: Path, context: Context, capsys: Captured) -> None:
    assert centavo(root, "optimize", "--run", "20261123T000000Z") == 0
    assert "The run 20261123T000000Z has ended: there is nothing to do." in capsys.readouterr().out
    assert not (root / "runs").exists()


class Checkout:
    """A checkout with a run that was handed over, and the lease as the head's controller left it."""

    def __init__(self, root: Path, context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
        self.context, self.bucket = context, BucketInMemory()
        monkeypatch.setattr(owned, "bucket_of", lambda environment: self.bucket)
        made = synthetic.running_run(root / "made")
        made.close()
        (root / "runs").mkdir()
        made.directory.rename(root / "runs" / "one")
        self.journal = Journal(root / "runs" / "one")

    def leave(self, **changes: object) -> None:
        first = claim("there").first(NOW)
        run = self.journal.info().run
        lease = replace(
            first, environment="test", run=run, released=True, run_holder=replace(first.holder, place=Place.HEAD)
        )
        self.bucket.put(LEASE, to_document(replace(lease, **changes)), 1)  # type: ignore[arg-type]

    def unfinished(self) -> Journal | None:
        with self.context.owner.alone("centavo optimize"):
            return unfinished_here(self.context.environment, self.context.owner, NOW)


@pytest.fixture
def handed(root: Path, context: Context, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return Checkout(root, context, monkeypatch)


def test_a_run_that_the_head_has_finished_is_over_here_too(handed: Checkout) -> None:
    handed.leave(stage="ended")
    assert handed.unfinished() is None
    assert handed.journal.stage() is Stage.ENDED and handed.journal.status() == "handed_over"
    run = handed.journal.info().run
    assert of_run(run, JOURNAL_NAME) not in handed.bucket.kept, "the old journal never takes the place of the head's"


def test_the_old_journal_of_a_run_that_the_head_left_unfinished_is_not_gone_on_with(handed: Checkout) -> None:
    handed.leave(stage="training")
    with pytest.raises(LockedError, match="take-over"):
        handed.unfinished()
    assert handed.journal.stage() is not Stage.ENDED


@pytest.mark.parametrize("changes", [{"run_holder": claim("desk").holder}, {"run": "another"}])
def test_a_run_that_was_never_handed_over_goes_on_here(handed: Checkout, changes: dict[str, object]) -> None:
    handed.leave(stage="training", **changes)
    assert handed.unfinished() is not None


@pytest.mark.parametrize(
    ("limits", "cost"),
    [
        ({"budget_usd": 5.0}, "at most $5.00, the budget"),
        ({"max_usd_per_hour": 2.0}, "at most $2.00 an hour"),
        ({}, "no limit is set"),
    ],
)
def test_a_person_is_told_what_the_run_may_cost(
    root: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, float], cost: str
) -> None:
    edited(root, "limits", **limits)
    monkeypatch.setattr("controller.commands.context.export", lambda environment: None)
    context = open_context(root, "test", PlainReporter(), SystemClock())
    monkeypatch.setattr(Context, "cluster", lambda _, journal: _Cluster())
    lease: Lease = replace(claim("there").first(NOW), run="one")
    said = told(context, synthetic.moveless_run(root / "made"), lease)
    assert "it stops itself 30 min after the training" in said and "centavo --env test status --remote" in said
    assert cost in said and "a-bucket has checkpoints" in said and "centavo --env test stop" in said


class _Cluster:
    """A cluster of which the bucket's name is known."""

    class made:  # noqa: N801
        class outputs:  # noqa: N801
            bucket = "a-bucket"
