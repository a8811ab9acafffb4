"""Our policy for spot under deadlines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from controller.decide.deadlines.expected_cost import best_pool, covered, expected_cost, stay_h
from controller.decide.deadlines.hypotheses import MEANS_H, STAYS
from controller.decide.deadlines.seen import Seen, Stays
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Job, Situation, Spot
from controller.simulate.traces.play import play

H = 3600.0
STEP_S = 200.0


def job(
    work_h: float = 24.0, time_h: float = 36.0, change_over_h: float = 0.2, spot: tuple[float, ...] = (1.0,)
) -> Job:
    return Job(work_h * H, time_h * H, change_over_h * H, STEP_S, 3.0, spot)


def seen(*looks: Sequence[bool], step_s: float = STEP_S) -> Seen:
    """Returns what is known after looks that lie a step apart. Each tells which pools have capacity."""
    known = Seen()
    for look in looks:
        known = known.after(look, step_s)
    return known


def situation(of: Job, known: Seen, running: Choice = WAIT, work_h: float = 24.0, left_h: float = 36.0) -> Situation:
    available = tuple(stays.is_up for stays in known.pools)
    return Situation(of, work_h * H, left_h * H, running, 0.0, available, known)


def test_spot_that_runs_goes_on() -> None:
    assert expected_cost(situation(job(), seen([True]), Spot(0))) == Spot(0)


def test_it_waits_for_spot_while_there_is_time() -> None:
    assert expected_cost(situation(job(time_h=90), seen([False]), left_h=90)) == WAIT


def test_it_runs_on_demand_when_spot_stays_away_and_time_runs_out() -> None:
    away = seen(*[[False]] * 200)
    assert expected_cost(situation(job(), away, left_h=25.5)) == ON_DEMAND


def test_spot_that_costs_as_much_as_on_demand_is_not_switched_to() -> None:
    lasting = seen(*[[True]] * 50)
    assert expected_cost(situation(job(spot=(3.0,)), lasting, ON_DEMAND)) == ON_DEMAND
    assert expected_cost(situation(job(spot=(0.5,)), lasting, ON_DEMAND)) == Spot(0)


def test_without_pools_there_is_on_demand() -> None:
    assert expected_cost(situation(job(spot=()), Seen().after((), STEP_S))) == ON_DEMAND


def test_it_takes_the_pool_that_has_lasted_over_the_one_that_has_just_come() -> None:
    known = seen(*[[False, True]] * 40, [True, True])
    assert best_pool(situation(job(spot=(1.0, 1.0)), known)) == Spot(1)


def test_a_price_that_is_low_enough_outweighs_losses() -> None:
    known = seen(*[[False, True]] * 40, [True, True])
    assert best_pool(situation(job(spot=(0.3, 1.0)), known)) == Spot(0)


def test_a_pool_that_runs_is_not_left_for_another() -> None:
    known = seen(*[[True, True]] * 3)
    assert best_pool(situation(job(spot=(1.0, 0.9)), known, Spot(0))) == Spot(0)


def test_the_longer_capacity_has_lasted_the_longer_it_is_expected_to_last() -> None:
    expected = [stay_h(Stays(True, age_h * H, is_first=False), 48.0) for age_h in (0.0, 0.5, 2.0, 12.0)]
    assert expected == sorted(expected) and expected[-1] > 3 * expected[0]


def test_a_stay_is_counted_up_to_the_length_that_is_asked_for() -> None:
    begun = Stays(True, 0.0, is_first=False)
    assert stay_h(begun, 0.01) == pytest.approx(0.01, rel=0.05)
    assert stay_h(begun, 1e6) == pytest.approx(float((STAYS @ MEANS_H).mean()))


def test_a_stay_that_went_on_before_the_first_look_is_expected_to_last_longer() -> None:
    assert stay_h(Stays(True, H), 48.0) > 1.5 * stay_h(Stays(True, H, is_first=False), 48.0)


def test_a_pool_that_often_lost_its_capacity_is_expected_to_lose_it_soon() -> None:
    flickering = seen(*([[True]] * 3 + [[False]] * 3) * 20, [True]).pools[0]
    lasting = seen(*([[True]] * 300 + [[False]] * 3) * 3, [True]).pools[0]
    assert stay_h(flickering, 48.0) < 0.5 * stay_h(lasting, 48.0)


def test_old_stays_are_forgotten() -> None:
    flickering = seen(*([[True]] * 3 + [[False]] * 3) * 20)
    after_weeks = flickering.pools[0]
    for _ in range(30):
        after_weeks = after_weeks.after(False, 24 * H)
    assert max(map(abs, after_weeks.stays)) < 0.05 * max(map(abs, flickering.pools[0].stays))


def test_pools_that_stand_in_for_each_other_are_learned() -> None:
    assert covered(seen([True]), Spot(0)) == 0.0
    in_turn = seen(*([[True, False]] * 2 + [[False, True]] * 2) * 40, [True, False])
    assert covered(in_turn, Spot(0)) == pytest.approx(0.98)
    together = seen(*([[True, True]] * 2 + [[False, False]] * 2) * 40, [True, True])
    assert covered(together, Spot(0)) == 0.0


def test_a_pool_that_has_capacity_is_more_likely_to_cover_a_loss_than_one_without() -> None:
    assert covered(seen([True, True]), Spot(0)) > covered(seen([True, False]), Spot(0))
    assert covered(seen([False, False]), None) == covered(seen([True, False]), Spot(0))


def test_steady_spot_costs_what_spot_costs() -> None:
    of = job(time_h=26)
    steps = int(of.time_s / STEP_S)
    played = play(expected_cost, of, np.ones((steps, 1), dtype=bool))
    assert played.usd == pytest.approx(24.2, abs=0.2) and played.change_overs == 1


def test_it_goes_to_another_pool_at_once() -> None:
    of = job(time_h=40, spot=(1.0, 1.0))
    steps = int(of.time_s / STEP_S)
    available = np.zeros((steps, 2), dtype=bool)
    available[: steps // 3, 0] = available[steps // 3 :, 1] = True
    played = play(expected_cost, of, available)
    assert played.waited_s == 0 and played.on_demand_s == 0 and played.change_overs == 2
