"""How long a move is expected to take: an assumption, until it was measured."""

from __future__ import annotations

import math

import pytest

from controller.decide import DecideSettings, SwitchingAssumptions
from controller.decide.samples.durations import ASSUMED_SD, BETWEEN_RUNS_SD, WITHIN_SD, expected, learned
from controller.domain.move import MovePart
from tests.support.training import Training


def test_an_assumption_holds_while_nothing_was_measured() -> None:
    found = expected(120.0, (), ())
    assert found.seconds == pytest.approx(120.0)
    assert found.log_sd == pytest.approx(math.hypot(ASSUMED_SD, WITHIN_SD))
    assert learned(SwitchingAssumptions(), {}, {}) == SwitchingAssumptions()


def test_one_measurement_outweighs_an_assumption_that_is_far_off() -> None:
    """By the formula: B = 0.09 / (0.09 + 1), and the rest of the way is gone in logarithms."""
    found = expected(120.0, (), (960.0,))
    assert found.seconds == pytest.approx(120.0 * 8 ** (1 / 1.09))
    assert found.measured == 1


def test_the_more_was_measured_the_nearer_is_the_expectation_and_the_narrower_its_spread() -> None:
    found = [expected(100.0, (), (400.0,) * count) for count in range(5)]
    seconds, spreads = [one.seconds for one in found], [one.log_sd for one in found]
    assert seconds == sorted(seconds) and seconds[4] == pytest.approx(400.0, rel=0.04)
    assert spreads == sorted(spreads, reverse=True)


def test_measurements_that_differ_much_widen_the_spread() -> None:
    assert expected(100.0, (), (50.0, 200.0) * 3).log_sd > 1.5 * expected(100.0, (), (100.0,) * 6).log_sd


def test_this_run_counts_more_than_earlier_ones() -> None:
    found = expected(100.0, (200.0,) * 10, (400.0,) * 10)
    assert 350.0 < found.seconds < 400.0
    earlier_alone = expected(100.0, (200.0,) * 10, ())
    assert earlier_alone.seconds == pytest.approx(200.0, rel=0.02)
    assert earlier_alone.log_sd > BETWEEN_RUNS_SD


def test_an_earlier_run_is_added_to_the_assumption_and_then_this_one_by_the_formula() -> None:
    """All measurements of a run are alike, so that the variance within runs is shrunk towards 0 from its prior."""
    found = expected(100.0, (200.0,) * 3, (400.0,) * 2)
    within = 4 * WITHIN_SD**2 / (4 + 2 + 1)
    pull = (within / 3) / (within / 3 + 1.0)
    mean, variance = pull * math.log(100) + (1 - pull) * math.log(200), pull * 1.0 + BETWEEN_RUNS_SD**2
    pull = (within / 2) / (within / 2 + variance)
    assert found.seconds == pytest.approx(math.exp(pull * mean + (1 - pull) * math.log(400)))
    assert found.log_sd == pytest.approx(math.sqrt(pull * variance + within))
    assert found.measured == 5


def test_without_an_assumption_what_was_measured_counts_alone() -> None:
    assert expected(0.0, (), (15.0, 15.0)).seconds == pytest.approx(15.0)
    assert expected(0.0, (), ()).seconds == 0.0
    within = 4 * WITHIN_SD**2 / (4 + 3 - 1)
    earlier_alone = expected(0.0, (15.0,) * 3, ())
    assert earlier_alone.log_sd == pytest.approx(math.sqrt(within / 3 + BETWEEN_RUNS_SD**2 + within))


def test_an_assumption_of_less_than_a_second_is_one() -> None:
    assert expected(0.5, (), ()).seconds == pytest.approx(0.5)


def test_a_part_that_took_no_time_is_no_error() -> None:
    assert 0.0 < expected(5.0, (), (0.0, 0.0, 0.0)).seconds < 1.0


def test_only_measured_parts_change() -> None:
    found = learned(SwitchingAssumptions(), {}, {MovePart.CONFIGURE: (600.0,) * 8, MovePart.TERRAFORM: (20.0,)})
    assert found.configure_s == pytest.approx(600.0, rel=0.03)
    assert (found.terraform_s, found.boot_s, found.pause_s) == (pytest.approx(20.0), 90.0, 5.0)
    assert found.grow_s == found.terraform_s + found.boot_s + found.configure_s


def test_what_earlier_runs_alone_have_measured_changes_the_part_too() -> None:
    found = learned(SwitchingAssumptions(), {MovePart.CONFIGURE: (600.0,) * 8}, {})
    assert found.configure_s == pytest.approx(600.0, rel=0.03)
    assert found.boot_s == SwitchingAssumptions().boot_s


def test_a_decision_goes_by_what_its_moves_took(training: Training) -> None:
    """A move that pays within minutes does not pay when nodes need an hour until they work."""
    training.total_steps = training.step + 1500
    settings = DecideSettings(end_guard_share=0.0)
    assert training.decide(settings=settings).target != training.fleet
    slow = training.history.__class__(durations={MovePart.CONFIGURE: (3600.0,) * 3})
    assert training.decide(settings=settings, history=slow).target == training.fleet
