"""`optimize --via pull-request` in the small world: the whole loop, real git, and people who merge or do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.domain import Decision, Fleet
from controller.edges.git import Git
from controller.edges.github import open_github
from controller.loop import Approval, Optimizer
from controller.record.live.reporter import PlainReporter
from controller.review.proposing.approval import PullRequestApproval
from controller.review.proposing.proposals import Proposals
from tests.support.github import FakeGitHub
from tests.unit.controller.harness import Controller
from tests.unit.controller.world import World

INITIAL, CHEAPEST = {"t2.medium": 1, "c5.large": 1, "c5.xlarge": 1}, {"c5.large": 3}
Wrap = Callable[[Approval], Approval]


@pytest.fixture
def one(world: World, checkout: Path) -> Controller:
    return Controller(world, checkout)


@pytest.fixture
def approval(one: Controller, github: FakeGitHub) -> PullRequestApproval:
    client = open_github("", github.environ)
    proposals = Proposals("test", one.environment.capacity_file, Git(one.root), client, base=None)
    return PullRequestApproval("test", one.journal.info().run, proposals, lambda message: None)


def optimizer(one: Controller, approval: Approval) -> Optimizer:
    return Optimizer(
        one.environment,
        one.cluster,
        one.journal,
        one.clock,
        PlainReporter(),
        one._decider(),
        one.bring_up,
        approval,
    )


def test_a_move_waits_for_its_merge_and_is_then_carried_out(
    one: Controller, approval: PullRequestApproval, github: FakeGitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    fleets_before_the_merge: list[Fleet] = []

    def people(decision: Decision) -> Fleet | None:
        target = approval(decision)
        if not github.pulls or github.open:
            fleets_before_the_merge.append(decision.current)
        if github.open and len(fleets_before_the_merge) >= 4:
            github.merge(1)
        return target

    report = optimizer(one, people).run()
    assert set(fleets_before_the_merge) == {Fleet(INITIAL)} and len(fleets_before_the_merge) >= 4
    assert capsys.readouterr().out.count("  move: ") == 1, "it is said once, however long it waits"
    assert [move["outcome"] for move in report["moves"]] == ["done"]
    assert report["fleet"] == {"initial": INITIAL, "final": CHEAPEST}
    assert [pull["merged_at"] is not None for pull in github.pulls] == [True]
    merged = json.loads(github.git("show", f"main:{one.environment.capacity_file.relative_to(one.root)}"))
    assert Fleet(merged["capacity"]) == CHEAPEST


def test_without_a_merge_the_fleet_stays_and_the_proposal_is_closed_once_it_is_not_worth_it(
    one: Controller, approval: PullRequestApproval, github: FakeGitHub
) -> None:
    report = optimizer(one, approval).run()
    assert report["moves"] == [] and report["fleet"]["final"] == INITIAL and report["status"] == "finished"
    assert len(github.pulls) == 1 and not github.open
    assert github.comments[-1][1].endswith("is the best fleet within the limits"), (
        "too little work was left to move for"
    )


def test_a_fleet_that_people_changed_before_they_merged_it_is_the_one_that_is_moved_to(
    one: Controller, approval: PullRequestApproval, github: FakeGitHub
) -> None:
    """Another number of nodes is merged by hand, in a commit on top of the proposal."""
    path = str(one.environment.capacity_file.relative_to(one.root))

    def people(decision: Decision) -> Fleet | None:
        target = approval(decision)
        if github.open:
            github.merge(1)
            base = Git(one.root)
            commit = base.fetch("main")
            assert commit is not None
            content = json.dumps({"capacity": {"c5.large": 2, "c5.xlarge": 1}}).encode()
            base.push(base.commit_file(commit, path, content, "Keep one"), "main", expected=commit)
        return target

    report = optimizer(one, people).run()
    assert report["moves"][0]["to"] == {"c5.large": 2, "c5.xlarge": 1}
    assert report["moves"][0]["reason"] == "people have merged this fleet"


def test_a_merge_that_was_pulled_into_this_checkout_is_no_foreign_change(
    one: Controller, approval: PullRequestApproval, github: FakeGitHub
) -> None:
    def people(decision: Decision) -> Fleet | None:
        target = approval(decision)
        if github.open:
            github.merge(1)
            one.environment.capacity_file.write_text(json.dumps({"capacity": CHEAPEST}))
        return target

    report = optimizer(one, people).run()
    assert report["fleet"]["final"] == CHEAPEST and [move["outcome"] for move in report["moves"]] == ["done"]
