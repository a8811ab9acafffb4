"""What the spot market did to a run comes back as it was kept, also to the next process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from controller.domain import Fleet, NoticeKind, Observation
from controller.domain.observed.spot import Exposure, Noticed, Shortage
from controller.domain.reasons import Reason, Said
from controller.domain.reasons.moving import NoCapacity
from controller.record.journal import Journal, spot

Reopened = Callable[[], Journal]

FIRST = Noticed("i-1", "c5.large", NoticeKind.INTERRUPTION, 5.0, 125.0, "eu-west-1a")
SECOND = Noticed("i-2", "c5.large", NoticeKind.REBALANCE, 6.0)
THIRD = Noticed("i-3", "t2.medium", NoticeKind.INTERRUPTION, 7.0, 127.0)
SMALL, MIXED = Fleet({"c5.large": 2}), Fleet({"c5.large": 2, "t2.medium": 1})


def test_a_new_run_has_lost_nothing_and_waits_for_nothing(begun: Journal) -> None:
    assert (begun.noticed(), begun.losses(), begun.all_losses(), begun.earlier_losses()) == ((), {}, {}, None)
    assert (begun.shortage(), begun.waiting(), begun.waited_s()) == (None, None, 0.0)


def test_notices_come_back_whole_in_their_order(begun: Journal, reopened: Reopened) -> None:
    for noticed in (FIRST, SECOND, THIRD):
        begun.add_noticed(noticed)
    assert reopened().noticed() == (FIRST, SECOND, THIRD)


def test_of_a_node_the_last_notice_holds(begun: Journal, reopened: Reopened) -> None:
    for noticed in (FIRST, SECOND, replace(SECOND, kind=NoticeKind.INTERRUPTION)):
        begun.add_noticed(noticed)
    assert reopened().noticed() == (FIRST, replace(SECOND, kind=NoticeKind.INTERRUPTION))


def test_of_many_notices_the_last_ones_are_kept(begun: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spot, "KEPT_NOTICES", 2)
    for noticed in (FIRST, SECOND, THIRD):
        begun.add_noticed(noticed)
    assert begun.noticed() == (SECOND, THIRD)


@pytest.mark.parametrize("shortage", [Shortage(MIXED, 5.0), Shortage(SMALL, 5.0, 9.5, is_stopped=True), None])
def test_a_shortage_comes_back_whole_until_it_is_over(
    begun: Journal, reopened: Reopened, shortage: Shortage | None
) -> None:
    begun.set_shortage(Shortage(SMALL, 1.0))
    begun.set_shortage(shortage)
    assert reopened().shortage() == shortage


@pytest.mark.parametrize("reason", [Said("no pool has capacity"), NoCapacity({"c5.large": "none left"})])
def test_the_waits_for_capacity_add_up_and_the_one_that_goes_on_says_why(
    begun: Journal, reopened: Reopened, reason: Reason
) -> None:
    begun.set_waiting(reason)
    assert (reopened().waiting(), reopened().waited_s()) == (reason, 0.0)
    begun.end_waiting(60.25)
    assert (reopened().waiting(), reopened().waited_s()) == (None, 60.25)
    begun.set_waiting(reason)
    begun.end_waiting(30.5)
    assert reopened().waited_s() == 90.75


def test_what_earlier_runs_have_lost_comes_back_and_nothing_is_not_the_same_as_unknown(
    begun: Journal, reopened: Reopened
) -> None:
    begun.set_earlier_losses({})
    assert reopened().earlier_losses() == {}
    losses = {"c5.large": Exposure(3, 12.5), "t2.medium": Exposure(0, 1.25)}
    begun.set_earlier_losses(losses)
    assert reopened().earlier_losses() == losses


def keep_three_hours(journal: Journal) -> None:
    """Keeps observations of three hours: the fleet of the last one has run for no time yet."""
    for at, fleet in ((7200.0, SMALL), (9000.0, SMALL), (10_800.0, MIXED), (14_400.0, SMALL), (18_000.0, MIXED)):
        journal.add_observation(Observation(at, fleet), 0.1)


def test_an_exposure_has_the_interruptions_and_the_hours_of_each_node(begun: Journal) -> None:
    keep_three_hours(begun)
    assert begun.losses() == {"c5.large": Exposure(0, 6.0), "t2.medium": Exposure(0, 1.0)}
    for noticed in (FIRST, SECOND, replace(THIRD, flavor="m5.large")):
        begun.add_noticed(noticed)
    assert begun.losses() == {
        "c5.large": Exposure(1, 6.0),
        "t2.medium": Exposure(0, 1.0),
        "m5.large": Exposure(1, 0.0),
    }


def test_this_run_and_earlier_ones_are_added_up_flavor_by_flavor(begun: Journal) -> None:
    keep_three_hours(begun)
    begun.add_noticed(FIRST)
    assert begun.all_losses() == begun.losses(), "nothing is known of earlier runs"
    begun.set_earlier_losses({"c5.large": Exposure(3, 12.5), "m5.large": Exposure(2, 8.0)})
    assert begun.all_losses() == {
        "c5.large": Exposure(4, 18.5),
        "t2.medium": Exposure(0, 1.0),
        "m5.large": Exposure(2, 8.0),
    }
