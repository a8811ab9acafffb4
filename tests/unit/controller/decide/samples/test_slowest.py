"""The slowest rank of a step: one that is slow in its windows before and after as well."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from controller.decide.model.communication import fit_communication
from controller.decide.model.step_time import measured_step_time_s
from controller.decide.samples.slowest import Slowest
from controller.decide.samples.windows import samples_of
from controller.decide.settings import DecideSettings
from controller.domain import Fact, Fleet, Observation
from tests.unit.controller.decide.model.test_communication import fact

SETTINGS = DecideSettings()
RANKS, STEP_S, COMPUTED_S = 5, 0.9, 0.4
ALL = Fleet({"c5.large": RANKS})


def windows(*of_the_last_rank: float, tokens: Sequence[float] | None = None) -> list[Observation]:
    """Windows of 50 steps of five ranks. The last rank computes so many seconds in each, the others 0.4 s."""
    seen = []
    for number, seconds in enumerate(of_the_last_rank):
        at, step = 100.0 + 60.0 * number, 50 * (number + 1)
        computed = [COMPUTED_S] * (RANKS - 1) + [seconds]
        of_rank = [100.0] * (RANKS - 1) + [tokens[number] if tokens else 100.0]
        facts = [
            fact(rank, RANKS, STEP_S, computed[rank], step=step, updated_at=at, tokens=of_rank[rank])
            for rank in range(RANKS)
        ]
        seen.append(Observation(at, ALL, tuple(facts)))
    return seen


def slowest_s(seen: Sequence[Observation], number: int) -> float:
    one = seen[number]
    return Slowest(samples_of(seen, SETTINGS), SETTINGS).seconds(one.facts, one.at, STEP_S)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_outlier_among_the_windows_of_a_rank_held_nothing_up(number: int) -> None:
    computed = [COMPUTED_S] * 3
    computed[number] = 0.7
    assert slowest_s(windows(*computed), number) == pytest.approx(COMPUTED_S)


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_rank_that_is_slow_in_all_its_windows_held_the_step_up(number: int) -> None:
    assert slowest_s(windows(0.7, 0.71, 0.69, 0.7), number) == pytest.approx(0.7, rel=0.02)


def test_a_rank_that_has_become_slow_holds_up_from_then_on() -> None:
    seen = windows(0.4, 0.4, 0.4, 0.7, 0.7, 0.7)
    assert [slowest_s(seen, number) for number in range(6)] == pytest.approx([0.4, 0.4, 0.4, 0.7, 0.7, 0.7])


def test_the_pace_counts_and_not_the_time_where_shares_of_the_batch_are_adapted() -> None:
    """The last rank makes 200 tokens a second throughout. It gets fewer and fewer of them."""
    seen = windows(0.7, 0.6, 0.5, tokens=(140.0, 120.0, 100.0))
    assert [slowest_s(seen, number) for number in range(3)] == pytest.approx([0.7, 0.6, 0.5])


def test_of_two_windows_the_faster_one_tells_and_a_single_one_is_believed() -> None:
    assert slowest_s(windows(0.7, 0.4), 0) == pytest.approx(COMPUTED_S)
    assert slowest_s(windows(0.7), 0) == pytest.approx(0.7)
    unseen = Slowest({}, SETTINGS)
    assert unseen.seconds(windows(0.7)[0].facts, 100.0, STEP_S) == 0.7


def test_a_window_that_is_seen_again_counts_once() -> None:
    """Steps are slow: the same window of 50 is seen three times, and the next one has no outlier."""
    again = windows(0.7, 0.4, 0.4)
    repeated = [Observation(again[0].at + late_s, ALL, again[0].facts) for late_s in (20.0, 40.0)]
    seen = [again[0], *repeated, *again[1:]]
    assert [slowest_s(seen, number) for number in range(5)] == pytest.approx([COMPUTED_S] * 5)


def with_outliers(share_s: float) -> list[Observation]:
    """Eight windows, in each of which another rank seems to have computed for longer."""
    seen = []
    for number in range(8):
        at = 100.0 + 60.0 * number
        slow = number % RANKS
        facts: list[Fact] = [
            fact(rank, RANKS, STEP_S, share_s if rank == slow else COMPUTED_S, step=50 * (number + 1), updated_at=at)
            for rank in range(RANKS)
        ]
        seen.append(Observation(at, ALL, tuple(facts)))
    return seen


@pytest.mark.parametrize("outlier_s", [0.6, 0.85, 1.5])
def test_outliers_change_neither_the_communication_nor_the_time_of_a_step(outlier_s: float) -> None:
    seen = with_outliers(outlier_s)
    measured = fit_communication(seen, SETTINGS).measured_s
    assert measured == {RANKS: pytest.approx(STEP_S - COMPUTED_S)}
    assert measured_step_time_s(seen, ALL, SETTINGS) == pytest.approx(STEP_S)
