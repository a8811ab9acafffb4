"""Each fault is found exactly at its limit, its reason tells all that was seen, and one remedy fits another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from patient import FLAVOR

from controller.decide.health import Signs, diagnose
from controller.decide.health.signs import Condition, NodeSigns
from controller.domain import LauncherState
from controller.domain.health import Ailment, HealthLimits, Remedy, RemedyKind
from controller.domain.reasons import Reason
from controller.domain.reasons.ending import GivenUp
from controller.domain.reasons.health import (
    HeadGone,
    HeadSilent,
    LauncherDied,
    LauncherNotStarted,
    NeverBecameRank,
    NodeSilent,
    NoNewStep,
    RankHangs,
    WorkerDied,
)

LIMITS = HealthLimits(
    stall_s=900.0,
    finish_s=3600.0,
    rank_s=500.0,
    silent_s=300.0,
    boot_s=400.0,
    head_s=700.0,
    service_s=60.0,
    remedy_s=200.0,
    gap_s=240.0,
)
NOW = 10_000.0
WELL = NodeSigns(FLAVOR, is_member=True, step=100, marked_step=100, has_answered=True)


def signs(ill: NodeSigns = WELL, others: int = 3, **whole: Any) -> Signs:
    """A training of one node, which may be ill, and of others that are well."""
    nodes = {"i-1": ill, **{f"i-{2 + number}": WELL for number in range(others)}}
    return Signs(at=NOW, step=100, launcher=LauncherState.RUNNING, nodes=nodes, **whole)


def found(given: Signs, *tried: Remedy, head: str | None = "running") -> tuple[Ailment, ...]:
    return diagnose(given, tried, LIMITS, head)


@pytest.mark.parametrize(
    ("condition", "has_answered", "limit_s", "kind"),
    [
        (Condition.SILENT, True, LIMITS.silent_s, NodeSilent),
        (Condition.SILENT, False, LIMITS.silent_s + LIMITS.boot_s, NodeSilent),
        (Condition.STILL, True, LIMITS.rank_s, RankHangs),
        (Condition.IDLE, True, LIMITS.rank_s, NeverBecameRank),
    ],
)
def test_a_node_is_ill_from_its_limit_on(
    condition: Condition, has_answered: bool, limit_s: float, kind: type[NodeSilent | RankHangs | NeverBecameRank]
) -> None:
    ill = replace(WELL, condition=condition, has_answered=has_answered)
    for beyond_s in (0.0, 5.0):
        reason = kind("i-1", FLAVOR, limit_s + beyond_s, limit_s)
        assert found(signs(replace(ill, for_s=limit_s + beyond_s))) == (Ailment(reason, RemedyKind.DROP_RANK, "i-1"),)
    assert found(signs(replace(ill, for_s=limit_s - 0.5))) == ()


def test_a_worker_that_is_dead_is_ill_from_its_limit_on() -> None:
    dead = replace(WELL, condition=Condition.DEAD)
    reason = WorkerDied("i-1", FLAVOR, LIMITS.service_s)
    assert found(signs(replace(dead, for_s=LIMITS.service_s))) == (Ailment(reason, RemedyKind.DROP_RANK, "i-1"),)
    assert found(signs(replace(dead, for_s=LIMITS.service_s - 0.5))) == ()


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (LauncherState.DEAD, LauncherDied(LIMITS.service_s)),
        (LauncherState.ABSENT, LauncherNotStarted(LIMITS.service_s)),
    ],
)
def test_a_launcher_that_does_not_run_is_restarted_from_its_limit_on(state: LauncherState, reason: Reason) -> None:
    late = replace(signs(), launcher=state, launcher_s=LIMITS.service_s)
    assert found(late) == (Ailment(reason, RemedyKind.RESTART_LAUNCHER),)
    assert found(replace(late, launcher_s=LIMITS.service_s - 0.5)) == ()


def test_a_silent_head_is_rebooted_from_its_limit_on() -> None:
    reason = HeadSilent(LIMITS.head_s + 5.0, LIMITS.head_s)
    assert found(signs(head_silent_s=LIMITS.head_s + 5.0)) == (Ailment(reason, RemedyKind.REBOOT_HEAD),)
    at_limit = HeadSilent(LIMITS.head_s, LIMITS.head_s)
    assert found(signs(head_silent_s=LIMITS.head_s)) == (Ailment(at_limit, RemedyKind.REBOOT_HEAD),)
    assert found(signs(head_silent_s=LIMITS.head_s - 0.5)) == ()


def test_a_head_that_ec2_has_ended_is_given_up_from_its_limit_on() -> None:
    gone = GivenUp(HeadGone("terminated"), ())
    late = signs(head_silent_s=LIMITS.service_s)
    assert found(late, head="terminated") == (Ailment(gone, RemedyKind.END_TRAINING),)
    assert found(replace(late, head_silent_s=LIMITS.service_s - 0.5), head="terminated") == ()


@pytest.mark.parametrize(
    ("left_s", "limit_s"),
    [
        (None, LIMITS.stall_s),
        (LIMITS.gap_s + 0.5, LIMITS.stall_s),
        (LIMITS.gap_s, LIMITS.finish_s),
        (0.0, LIMITS.finish_s),
    ],
)
def test_a_training_stands_still_from_its_limit_on_which_is_longer_near_its_end(
    left_s: float | None, limit_s: float
) -> None:
    for beyond_s in (0.0, 5.0):
        reason = NoNewStep(100, limit_s + beyond_s, limit_s)
        late = signs(still_s=limit_s + beyond_s, left_s=left_s)
        assert found(late) == (Ailment(reason, RemedyKind.RESTART_LAUNCHER),)
    assert found(signs(still_s=limit_s - 0.5, left_s=left_s)) == ()


# one remedy beside another

STALLED = NoNewStep(100, LIMITS.stall_s, LIMITS.stall_s)
SILENT = replace(WELL, condition=Condition.SILENT, for_s=LIMITS.silent_s)
NODE_SILENT = NodeSilent("i-1", FLAVOR, LIMITS.silent_s, LIMITS.silent_s)


def test_a_training_that_waits_for_a_node_which_is_dropped_now_is_not_restarted() -> None:
    assert found(signs(SILENT, still_s=LIMITS.stall_s)) == (
        Ailment(STALLED, None),
        Ailment(NODE_SILENT, RemedyKind.DROP_RANK, "i-1"),
    )


def test_a_training_whose_node_was_dropped_just_now_has_time_to_go_on() -> None:
    drop = Remedy(RemedyKind.DROP_RANK, NOW - LIMITS.remedy_s + 1.0, NODE_SILENT, "i-1")
    left = replace(SILENT, is_member=False)
    assert found(signs(left, still_s=LIMITS.stall_s), drop) == (
        Ailment(STALLED, None),
        Ailment(NODE_SILENT, None, "i-1"),
    )


def test_a_training_is_restarted_while_a_node_that_takes_no_part_is_replaced() -> None:
    """The node that is replaced is not what the others wait for."""
    left = replace(SILENT, is_member=False)
    assert found(signs(left, still_s=LIMITS.stall_s)) == (
        Ailment(STALLED, RemedyKind.RESTART_LAUNCHER),
        Ailment(NODE_SILENT, RemedyKind.REPLACE_NODE, "i-1"),
    )


@pytest.mark.parametrize(("others", "remedy"), [(0, None), (1, RemedyKind.DROP_RANK), (2, RemedyKind.DROP_RANK)])
def test_a_member_is_dropped_where_at_least_as_many_others_are_well(others: int, remedy: RemedyKind | None) -> None:
    assert found(signs(SILENT, others)) == (Ailment(NODE_SILENT, remedy, "i-1"),)
