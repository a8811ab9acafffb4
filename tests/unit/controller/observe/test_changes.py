"""The joins and leaves that ranks report, one of which may have wrong figures."""

from __future__ import annotations

from dataclasses import replace

from controller.domain import Fact, Fleet, MembershipChange, Observation
from controller.observe.changes import membership_changes
from tests.unit.controller.observe.test_facts import NOW
from tests.unit.controller.observe.test_progress import RANK

GREW = MembershipChange(NOW - 60, 3, 5, 1.5, 0)
SHRANK = MembershipChange(NOW - 30, 5, 2, 0.7, 1)


def seen(*changes: MembershipChange | None) -> Observation:
    facts: tuple[Fact, ...] = tuple(replace(RANK, last_change=change) for change in changes)
    return Observation(NOW, Fleet({"c5.xlarge": len(facts)}), facts)


def test_each_change_counts_once_however_many_ranks_and_observations_tell_of_it() -> None:
    later = replace(GREW, at=GREW.at + 2, pause_s=1.4)
    looks = [seen(None, None), seen(GREW, later, None), seen(GREW, GREW, later), seen(SHRANK, SHRANK)]
    assert membership_changes(looks, NOW - 100) == (GREW, SHRANK)
    assert membership_changes(looks, NOW - 40) == (SHRANK,)


def test_while_a_change_goes_round_both_count() -> None:
    assert membership_changes([seen(GREW, SHRANK)], NOW - 100) == (GREW, SHRANK)


def test_one_rank_with_wrong_figures_adds_nothing() -> None:
    longer = replace(GREW, pause_s=1e9, steps_lost=10**6)
    invented = MembershipChange(NOW - 10, 1, 60_000, 1e9, 10**6)
    for lie in (longer, invented):
        assert membership_changes([seen(GREW, GREW, lie)], NOW - 100) == (GREW,)


def test_a_rank_that_is_alone_is_believed() -> None:
    assert membership_changes([seen(SHRANK)], NOW - 100) == (SHRANK,)


def test_a_change_at_the_very_time_counts() -> None:
    assert membership_changes([seen(GREW)], GREW.at) == (GREW,)
    assert membership_changes([seen(GREW)], GREW.at + 0.1) == ()


def test_the_same_sizes_are_another_change_after_three_seconds() -> None:
    near, far = replace(GREW, at=GREW.at + 3.0), replace(GREW, at=GREW.at + 3.1)
    assert membership_changes([seen(GREW, near)], NOW - 100) == (GREW,)
    assert membership_changes([seen(GREW, far)], NOW - 100) == (GREW, far)


def test_other_sizes_are_another_change_at_the_same_time() -> None:
    other = replace(GREW, to_size=4)
    assert set(membership_changes([seen(GREW, other)], NOW - 100)) == {GREW, other}


def test_each_figure_is_the_median_over_the_ranks() -> None:
    ranks = [
        replace(GREW, at=GREW.at + second, pause_s=pause_s, steps_lost=lost)
        for second, pause_s, lost in ((0, 3.0, 2), (1, 1.0, 5), (2, 2.0, 4))
    ]
    assert membership_changes([seen(*ranks)], NOW - 100) == (replace(GREW, at=GREW.at + 1, pause_s=2.0, steps_lost=4),)
