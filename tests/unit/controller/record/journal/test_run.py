"""What a run is comes back as it was kept, also to the next process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.config.constraints import NO_CONSTRAINTS, Constraints
from controller.domain import EarlierSpeed, Fleet
from controller.domain.move import MovePart
from controller.record.journal import Journal
from controller.record.journal.run import RunInfo

Reopened = Callable[[], Journal]


def test_a_new_run_is_what_it_was_started_as(begun: Journal, reopened: Reopened) -> None:
    fleet = Fleet({"c5.large": 2})
    assert reopened().info() == RunInfo("20270115T080000Z", "test", "p", 1_800_000_000.25, fleet, NO_CONSTRAINTS)


def test_a_new_run_has_no_members_no_goal_and_no_speeds(begun: Journal) -> None:
    assert begun.members() == frozenset()
    assert begun.plain_goal() is None
    assert begun.recalled() is None


def test_policy_first_fleet_and_members_are_kept_each_by_itself(begun: Journal, reopened: Reopened) -> None:
    begun.set_policy("cheapest-fleet")
    begun.set_initial(Fleet({"t2.medium": 3}))
    begun.set_members(frozenset({"i-2", "i-1"}))
    info = reopened().info()
    assert (info.policy, info.initial) == ("cheapest-fleet", Fleet({"t2.medium": 3}))
    assert (info.run, info.environment) == ("20270115T080000Z", "test")
    assert reopened().members() == {"i-1", "i-2"}


def test_the_last_members_hold(begun: Journal, reopened: Reopened) -> None:
    begun.set_members(frozenset({"i-1", "i-2"}))
    begun.set_members(frozenset({"i-3"}))
    assert reopened().members() == {"i-3"}


def test_the_speeds_of_earlier_runs_come_back_with_their_circumstances(begun: Journal, reopened: Reopened) -> None:
    speeds = {"c5.large": EarlierSpeed(100.5, 0.125), "t2.medium": EarlierSpeed(50.0)}
    begun.set_recalled("a corpus", speeds)
    assert reopened().recalled() == ("a corpus", speeds)


def test_what_was_asked_holds_over_what_the_settings_say(begun: Journal, reopened: Reopened) -> None:
    begun.keep_constraints(Constraints(deadline_at=5.0), Constraints(deadline_at=9.0, budget_usd=2.0))
    assert reopened().info().constraints == Constraints(deadline_at=5.0, budget_usd=2.0)


def test_what_was_asked_before_stays_until_it_is_asked_anew(begun: Journal, reopened: Reopened) -> None:
    begun.keep_constraints(Constraints(deadline_at=5.0, budget_usd=3.0), NO_CONSTRAINTS)
    begun.keep_constraints(Constraints(budget_usd=4.0), NO_CONSTRAINTS)
    assert reopened().info().constraints == Constraints(deadline_at=5.0, budget_usd=4.0)


def test_what_the_settings_say_is_forgotten_when_they_say_it_no_more(begun: Journal, reopened: Reopened) -> None:
    begun.keep_constraints(NO_CONSTRAINTS, Constraints(budget_usd=4.0))
    begun.keep_constraints(NO_CONSTRAINTS, NO_CONSTRAINTS)
    assert reopened().info().constraints == NO_CONSTRAINTS


def test_several_values_are_kept_together_or_not_at_all(begun: Journal) -> None:
    """The text of the status can't be stored, and so the end is not kept either."""
    with pytest.raises(UnicodeEncodeError):
        begun.end(b"\xff".decode(errors="surrogateescape"), None, 5.0)
    assert (begun.ended_at(), begun.status()) == (None, "running")


def test_the_seconds_that_parts_of_moves_took_come_back_oldest_first(begun: Journal, reopened: Reopened) -> None:
    assert begun.durations() == {}
    for part, seconds in ((MovePart.BOOT, 30.5), (MovePart.PAUSE, 1.25), (MovePart.BOOT, 20.0)):
        begun.add_duration(part, seconds)
    assert reopened().durations() == {MovePart.BOOT: (30.5, 20.0), MovePart.PAUSE: (1.25,)}
    assert reopened().earlier_durations() == {}, "they are this run's own"


def test_the_seconds_that_earlier_runs_measured_come_back_by_themselves(begun: Journal, reopened: Reopened) -> None:
    measured = {MovePart.BOOT: (30.5, 20.0), MovePart.DRAIN: (4.0,)}
    begun.set_earlier_durations(measured)
    assert (reopened().earlier_durations(), reopened().durations()) == (measured, {})
