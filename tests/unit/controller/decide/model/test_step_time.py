"""How many tokens a step has, and how long it takes, as measured."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from controller.decide.model.step_time import RECENT_STEP_TIMES, measured_step_time_s, tokens_per_step
from controller.decide.settings import DecideSettings
from controller.domain import Fact, Fleet, Observation, Progress
from controller.domain.batches import Batches
from tests.unit.controller.decide.model.test_communication import fact

EQUAL = DecideSettings(batches=Batches.EQUAL)
TWO = Fleet({"c5.large": 2})


def look(*facts: Fact, fleet: Fleet = TWO, at: float = 100.0) -> Observation:
    return Observation(at, fleet, tuple(replace(one, updated_at=at) for one in facts))


def pair(seconds: float, at: float = 100.0, **other: Any) -> Observation:
    return look(fact(0, 2, seconds, **other), fact(1, 2, seconds, **other), at=at)


def test_the_progress_says_how_many_tokens_a_step_has() -> None:
    progress = Progress(10, 100, 4000, 0.0, 100.0)
    assert tokens_per_step([pair(0.5)], progress, EQUAL) == 400.0
    assert tokens_per_step([pair(0.5)], Progress(0, 100, 0, 0.0, 100.0), EQUAL) == 200.0


def test_without_progress_the_observations_in_which_all_ranks_report_say_it() -> None:
    seen = [pair(0.5), look(fact(0, 2, tokens=300.0), fact(1, 2, tokens=300.0)), look(fact(0, 2)), look(fact(0, 1))]
    assert tokens_per_step(seen, None, EQUAL) == 200.0, "the median of 200, 600 and 100"
    assert tokens_per_step([look(fact(0, 2)), look()], None, EQUAL) is None
    assert tokens_per_step([look(fact(0, 2), fact(1, 3))], None, EQUAL) is None


def windows(*tokens: float, apart: int = 50) -> list[Observation]:
    """A window of 50 steps of two ranks for each number of tokens of a rank."""
    return [
        look(*(fact(rank, 2, step=(n + 1) * apart, window=50, tokens=of_rank) for rank in (0, 1)), at=60.0 * n)
        for n, of_rank in enumerate(tokens)
    ]


MEAN_OF_400 = Progress(1000, 9000, 400_000, 0.0, 100.0)


@pytest.mark.parametrize(
    ("tokens", "total"),
    [
        ((200.0, 200.0, 500.0, 510.0, 490.0), 1000.0),
        ((200.0, 200.0, 90.0, 100.0, 110.0), 200.0),
        ((200.0, 200.0, 200.0, 500.0, 500.0), 400.0),
        ((200.0, 205.0, 210.0, 195.0, 215.0), 400.0),
        ((500.0, 100.0, 500.0), 400.0),
        ((200.0, 200.0, 300.0, 310.0, 290.0), 600.0),
    ],
)
def test_three_windows_that_agree_on_another_batch_are_believed_for_the_rest(
    tokens: tuple[float, ...], total: float
) -> None:
    assert tokens_per_step(windows(*tokens), MEAN_OF_400, EQUAL) == total


@pytest.mark.parametrize(("mean", "of_rank"), [(1210, 665.5), (1210, 550.0)])
def test_a_tenth_more_or_less_is_no_other_batch_yet(mean: int, of_rank: float) -> None:
    progress = Progress(1000, 9000, 1000 * mean, 0.0, 100.0)
    assert tokens_per_step(windows(of_rank, of_rank, of_rank), progress, EQUAL) == mean


@pytest.mark.parametrize(("count", "total"), [(5, 400.0), (9, 1000.0)])
def test_windows_that_overlap_count_once(count: int, total: float) -> None:
    assert tokens_per_step(windows(*[500.0] * count, apart=20), MEAN_OF_400, EQUAL) == total


def test_where_some_ranks_report_their_shares_tell_what_all_have() -> None:
    """One rank of two reports, which has a quarter of the batch."""
    some = [look(replace(fact(0, 2, step=n * 50, window=50, tokens=250.0), share=0.25)) for n in (1, 2, 3)]
    assert tokens_per_step(some, MEAN_OF_400, EQUAL) == 1000.0
    unsaid = [replace(one, facts=tuple(replace(f, share=None) for f in one.facts)) for one in some]
    assert tokens_per_step(unsaid, MEAN_OF_400, EQUAL) == 400.0


def test_the_step_time_is_the_median_of_the_last_observations_of_this_fleet() -> None:
    seen = [pair(9.0, at=float(n)) for n in range(20)] + [pair(0.5 + n, at=100.0 + n) for n in range(RECENT_STEP_TIMES)]
    assert measured_step_time_s(seen, TWO, EQUAL) == 2.5
    assert measured_step_time_s([*seen, pair(0.5, at=200.0)], TWO, EQUAL) == 2.5
    assert measured_step_time_s(seen[:1], TWO, EQUAL) == 9.0


def test_what_was_seen_of_another_fleet_and_before_it_does_not_count() -> None:
    other = look(fact(0, 1, 7.0), fleet=Fleet({"c5.large": 1}))
    assert measured_step_time_s([pair(0.5), other], TWO, EQUAL) is None
    assert measured_step_time_s([pair(9.0), other, pair(0.5)], TWO, EQUAL) == 0.5
    assert measured_step_time_s([], TWO, EQUAL) is None


@pytest.mark.parametrize("wrong", [None, 0.0, -1.0, math.inf, math.nan])
def test_a_time_that_is_none_is_left_out(wrong: Any) -> None:
    seen = look(fact(0, 2, iteration_time_s=wrong), fact(1, 2, 0.5))
    assert measured_step_time_s([seen], TWO, EQUAL) == 0.5
    assert measured_step_time_s([look(fact(0, 2, iteration_time_s=wrong))], TWO, EQUAL) is None


def test_ranks_of_another_world_size_are_left_out() -> None:
    assert measured_step_time_s([look(fact(0, 3, 9.0), fact(1, 2, 0.5))], TWO, EQUAL) == 0.5


def test_an_observation_without_a_time_does_not_use_up_the_recent_ones() -> None:
    silent = [look(at=200.0 + n) for n in range(10)]
    assert measured_step_time_s([pair(0.5), *silent], TWO, EQUAL) == 0.5


@pytest.mark.parametrize(("slow_s", "passing_s"), [(0.4, 0.0), (0.5, 0.0), (1.2, 1.2 - 1.25 * 0.6)])
def test_the_wait_for_shares_that_are_still_adapted_is_not_counted(slow_s: float, passing_s: float) -> None:
    """Two ranks with 100 tokens each: evenly divided, the work takes 200 tokens / (both speeds together)."""
    seen = look(fact(0, 2, 2.0, 0.4), fact(1, 2, 2.0, slow_s))
    found = measured_step_time_s([seen], TWO, DecideSettings())
    assert found == pytest.approx(2.0 - passing_s)
    assert measured_step_time_s([seen], TWO, EQUAL) == 2.0, "equal batches are not adapted"
