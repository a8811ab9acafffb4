"""Observations: what is known of the last ones without reading, in a few numbers, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from controller.domain import Credits, Fact, Fleet, Observation, TrainingState, UnknownNode
from controller.domain.prices.bill import Metered
from controller.domain.reasons.nodes import FactMissing
from controller.record.journal import Journal
from controller.record.journal.observations import KEPT_OF_EACH_FLEET
from controller.record.journal.table import Unlocked

FLEET = Fleet({"c5.large": 2})
FACT = Fact("i-1", "c5.large", 0, 2, TrainingState.TRAINING, 10, 0.5, 0.4, 8.0, 100.0, 10, 5.0)
SEEN = Observation(5.0, FLEET, (FACT,), (UnknownNode("i-2", "c5.large", FactMissing()),))


def test_the_observation_that_was_added_last_is_not_read_back(begun: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    begun.add_observation(SEEN, 0.1)
    monkeypatch.setattr(Journal, "_observation", lambda self, number: pytest.fail("it is read"))
    assert begun.recent(5) == (SEEN,)


def test_a_journal_to_which_nothing_was_added_reads_all_it_has(begun: Journal, reopened: Callable[[], Journal]) -> None:
    assert begun.recent(5) == ()
    begun.add_observation(SEEN, 0.1)
    assert reopened().recent(5) == (SEEN,)


def test_cpu_credits_are_known_after_a_restart_too(begun: Journal, reopened: Callable[[], Journal]) -> None:
    first, second = (
        replace(SEEN, at=at, credits={"i-1": Credits(balance, 0.0, at)}) for at, balance in ((5.0, 9.0), (6.0, 8.0))
    )
    for seen in (first, second):
        begun.add_observation(seen, 0.1)
    assert begun.recent(5) == (first, second)
    assert begun.recent(5) == (first, second), "also when nothing was added"
    assert reopened().recent(5) == (first, second)


def test_a_journal_of_an_older_centavo_keeps_cpu_credits_once_a_controller_has_taken_it_over(
    begun: Journal, reopened: Callable[[], Journal]
) -> None:
    begun.add_observation(SEEN, 0.1)
    begun._database.execute("ALTER TABLE observations DROP COLUMN credits")
    assert reopened().recent(5) == (SEEN,)
    carried_on, told = reopened(), replace(SEEN, at=6.0, credits={"i-1": Credits(9.0, 0.0, 6.0)})
    carried_on.take_over(Unlocked())
    carried_on.add_observation(told, 0.1)
    assert reopened().recent(5) == (SEEN, told)
    assert reopened().take_over(Unlocked()) == 2, "the column is there"


def test_a_process_that_only_adds_keeps_so_many_observations_and_no_more(begun: Journal) -> None:
    for number in range(KEPT_OF_EACH_FLEET + 5):
        begun.add_observation(replace(SEEN, at=float(number)), 0.1)
    assert len(begun._added) == KEPT_OF_EACH_FLEET
    assert [seen.at for seen in begun.recent(2)] == [KEPT_OF_EACH_FLEET + 3.0, KEPT_OF_EACH_FLEET + 4.0]


def test_a_summary_has_the_time_the_fleet_and_the_price(begun: Journal) -> None:
    begun.add_observation(SEEN, 0.25)
    [(number, summary)] = begun.summaries()
    assert (number, summary.at, summary.fleet, summary.usd_per_hour) == (1, 5.0, FLEET, 0.25)
    assert (summary.ranks, summary.unknown) == (1, 1)


@pytest.mark.parametrize(
    ("until", "usd"), [(None, 3.0), (0.0, 0.0), (900.0, 0.5), (3600.0, 2.0), (3600.5, 2.0 + 1 / 7200), (5400.0, 2.5)]
)
def test_the_cost_is_counted_up_to_a_time(begun: Journal, until: float | None, usd: float) -> None:
    for at, usd_per_hour in ((0.0, 2.0), (3600.0, 1.0), (7200.0, 4.0)):
        begun.add_observation(Observation(at, FLEET), usd_per_hour)
    assert begun.spent_usd(until) == pytest.approx(usd)


def test_the_journal_knows_when_it_was_written_last(begun: Journal, reopened: Callable[[], Journal]) -> None:
    assert begun.last_observed_at() is None
    begun.add_observation(Observation(900.5, FLEET), 0.1)
    begun.add_observation(SEEN, 0.1)
    assert reopened().last_observed_at() == 900.5, "a clock that steps back does not take the later time away"


def test_what_was_paid_before_a_look_found_it_adds_up_by_line_and_is_spent(
    begun: Journal, reopened: Callable[[], Journal]
) -> None:
    looks = [{"nodes": 0.5}, {}, {"nodes": 0.25, "volumes": 0.125}, {"volumes": 0.25}]
    for at, unseen_usd in enumerate(looks):
        begun.add_observation(Observation(float(at), FLEET), 0.0, Metered({}, unseen_usd))
    assert reopened().unseen_usd() == {"nodes": 0.75, "volumes": 0.375}
    assert reopened().spent_usd() == 1.125


def test_what_was_paid_so_far_is_spent_once_and_does_not_fall(begun: Journal, reopened: Callable[[], Journal]) -> None:
    for at, usd in enumerate((0.25, 0.5, 0.5, 0.0, 0.375)):
        begun.add_observation(Observation(float(at), FLEET), 0.0, Metered({}, {"nodes": 0.125}, {"traffic": usd}))
    assert reopened().unseen_usd() == {"nodes": 0.625, "traffic": 0.5}
    assert reopened().spent_usd() == 1.125


def test_a_summary_has_the_lines_that_the_price_is_made_of(begun: Journal) -> None:
    lines = {"nodes": 0.25, "volumes": 0.125}
    begun.add_observation(SEEN, 0.375, Metered(lines))
    begun.add_observation(SEEN, 0.375)
    assert [summary.paid_usd_per_hour for _, summary in begun.summaries()] == [lines, {}]
