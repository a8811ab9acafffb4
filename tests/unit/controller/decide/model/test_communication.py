"""How long a step waits for the network: what is taken for a measurement, and what is fitted to it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from controller.decide.model.communication import Communication, fit_communication
from controller.decide.settings import DecideSettings
from controller.domain import Fact, Fleet, Observation, TrainingState

SETTINGS = DecideSettings()


def fact(rank: int, world_size: int, iteration_s: float = 0.5, compute_s: float = 0.4, **other: Any) -> Fact:
    values = {
        "instance_id": f"i-{rank}",
        "flavor": "c5.large",
        "rank": rank,
        "world_size": world_size,
        "state": TrainingState.TRAINING,
        "step": 1000,
        "iteration_time_s": iteration_s,
        "compute_time_s": compute_s,
        "samples": 8.0,
        "tokens": 100.0,
        "window": 50,
        "updated_at": 100.0,
        **other,
    }
    return Fact(**values)


def look(*facts: Fact) -> Observation:
    return Observation(100.0, Fleet({"c5.large": max(1, len(facts))}), facts)


def of_all(world_size: int, wait_s: float) -> Observation:
    return look(*(fact(rank, world_size, 0.4 + wait_s) for rank in range(world_size)))


@pytest.mark.parametrize(
    ("coefficients", "seconds"),
    [
        ((1.0, 0.0, 0.0, 0.0), {1: 0.0, 2: 1.0, 8: 1.0}),
        ((0.0, 1.0, 0.0, 0.0), {1: 0.0, 2: 0.5, 8: 0.875}),
        ((0.0, 0.0, 1.0, 0.0), {1: 0.0, 2: 1.0, 8: 3.0}),
        ((0.0, 0.0, 0.0, 1.0), {1: 0.0, 2: 1.0, 8: 7.0}),
        ((1.0, 2.0, 3.0, 4.0), {0: 0.0, 4: 1 + 1.5 + 6 + 12}),
    ],
)
def test_the_terms_are_barrier_bandwidth_depth_and_latency(
    coefficients: tuple[float, float, float, float], seconds: dict[int, float]
) -> None:
    assert {size: Communication(coefficients).seconds(size) for size in seconds} == seconds


def test_with_nothing_measured_nothing_is_waited_for() -> None:
    assert fit_communication([], SETTINGS) == Communication()
    assert fit_communication([of_all(1, 0.3)], SETTINGS) == Communication(), "one rank waits for nobody"


def test_the_wait_is_the_median_step_without_the_slowest_computing() -> None:
    ranks = [fact(0, 3, 0.5, 0.2), fact(1, 3, 0.75, 0.375), fact(2, 3, 0.625, 0.25)]
    assert fit_communication([look(*ranks)], SETTINGS).measured_s == {3: pytest.approx(0.25)}


def test_a_step_that_is_shorter_than_the_computing_in_it_waits_for_nothing() -> None:
    assert fit_communication([look(fact(0, 2, 0.3), fact(1, 2, 0.3))], SETTINGS).measured_s == {2: 0.0}


def test_ranks_that_differ_by_noise_count_by_their_middle() -> None:
    """A window of 50 steps of ten percent has a median that is off by 1.8 percent: 5.5 percent is noise, 6 is not."""
    noisy = [fact(rank, 5, 0.5, 0.4 * share) for rank, share in enumerate((0.96, 0.99, 1.0, 1.02, 1.05))]
    held_up = [*noisy[:4], fact(4, 5, 0.5, 0.4 * 1.06)]
    assert fit_communication([look(*noisy)], SETTINGS).measured_s == {5: pytest.approx(0.1)}
    assert fit_communication([look(*held_up)], SETTINGS).measured_s == {5: pytest.approx(0.1 - 0.4 * 0.06)}


def test_short_windows_have_more_noise() -> None:
    ranks = [fact(rank, 3, 0.5, 0.4 * share, window=25) for rank, share in enumerate((1.0, 1.0, 1.07))]
    assert fit_communication([look(*ranks)], SETTINGS).measured_s == {3: pytest.approx(0.1)}


def test_a_rank_that_computed_for_longer_than_the_step_took_is_an_outlier() -> None:
    ranks = [fact(0, 3, 0.5, 0.4), fact(1, 3, 0.5, 0.4), fact(2, 3, 0.5, 0.9)]
    assert fit_communication([look(*ranks)], SETTINGS).measured_s == {3: pytest.approx(0.1)}


def test_each_size_counts_by_its_median() -> None:
    seen = [of_all(4, wait) for wait in (0.125, 0.25, 8.0)] + [of_all(2, 0.0625)]
    measured = fit_communication(seen, SETTINGS).measured_s
    assert measured is not None and list(measured) == [2, 4]
    assert measured[2] == pytest.approx(0.0625) and measured[4] == pytest.approx(0.25)


@pytest.mark.parametrize("world_size", [2, 6, 30])
def test_a_size_that_was_measured_is_fitted_and_others_lie_between_constant_and_in_proportion(world_size: int) -> None:
    fitted = fit_communication([of_all(world_size, 0.2)], SETTINGS)
    assert fitted.seconds(world_size) == pytest.approx(0.2, rel=2e-3)
    assert 0.2 < fitted.seconds(2 * world_size) < 0.4
    assert all(coefficient > 0 for coefficient in fitted.coefficients)


def test_a_size_that_is_alone_is_fitted_alike_however_often_it_was_seen() -> None:
    once, often = fit_communication([of_all(4, 0.2)], SETTINGS), fit_communication([of_all(4, 0.2)] * 25, SETTINGS)
    assert often.coefficients == pytest.approx(once.coefficients, rel=1e-6)


def test_what_the_formula_can_say_is_found_again() -> None:
    true = Communication((0.02, 0.0, 0.03, 0.0))
    fitted = fit_communication([of_all(size, true.seconds(size)) for size in (2, 3, 4, 8, 16)] * 3, SETTINGS)
    assert [fitted.seconds(size) for size in (2, 6, 12)] == pytest.approx(
        [true.seconds(size) for size in (2, 6, 12)], rel=0.03
    )


def test_a_size_that_was_seen_more_often_counts_more() -> None:
    """No curve fits both: 0.3 s at 4 ranks, and 0.1 s at 8."""
    once = fit_communication([of_all(4, 0.3), of_all(8, 0.1)], SETTINGS)
    often = fit_communication([of_all(4, 0.3)] * 20 + [of_all(8, 0.1)], SETTINGS)
    assert once.seconds(4) == pytest.approx(0.2, abs=0.02)
    assert often.seconds(4) > 0.27


@pytest.mark.parametrize(
    ("reporting", "world_size", "counts"),
    [(2, 4, True), (1, 4, False), (1, 2, True), (8, 100, True), (7, 100, False), (5, 9, True), (4, 9, False)],
)
def test_too_few_ranks_say_nothing_of_the_slowest(reporting: int, world_size: int, counts: bool) -> None:
    fitted = fit_communication([look(*(fact(rank, world_size) for rank in range(reporting)))], SETTINGS)
    assert (fitted.measured_s is not None) is counts


@pytest.mark.parametrize(
    "wrong",
    [
        {"iteration_time_s": None},
        {"iteration_time_s": math.nan},
        {"iteration_time_s": math.inf},
        {"iteration_time_s": 0.0},
        {"iteration_time_s": -1.0},
        {"world_size": None},
        {"world_size": 0},
        {"state": TrainingState.STARTING},
    ],
)
def test_a_fact_that_is_of_no_use_is_left_out(wrong: dict[str, Any]) -> None:
    with_it = look(*(fact(rank, 4) for rank in range(3)), fact(3, **{"world_size": 4, "compute_s": 0.001, **wrong}))
    measured = fit_communication([with_it], SETTINGS).measured_s
    assert measured == {4: pytest.approx(0.1)}
    assert fit_communication([look(fact(0, **{"world_size": 2, **wrong}))], SETTINGS).measured_s is None


def test_ranks_that_disagree_about_the_world_size_say_nothing() -> None:
    assert fit_communication([look(fact(0, 2), fact(1, 3))], SETTINGS) == Communication()
