"""The chance that another fleet would have been better, and by how much, beside random numbers."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import NormalDist, fmean
from typing import NamedTuple

import pytest

from controller.decide.model.doubt import SPOT_LOG_SD, risk_of
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.risk import SWITCH_SD, chance_kept
from controller.domain import Flavor, Fleet, Limits, Market, Risk
from controller.domain.objective import Objective
from tests.unit.controller.decide.model.test_forecaster import NOW, TIMES, TWO_B, forecaster

UNKNOWN = Fleet({"new": 1})


def doubting(objective: Objective = Objective.COST, limits: Limits | None = None, **errors: float) -> Forecaster:
    """`errors` are the standard errors of the logarithms of speeds."""
    one = forecaster(objective=objective, limits=limits)
    return replace(one, model=replace(one.model, log_se=errors))


def drawn(mean: float, sigma: float) -> tuple[float, float]:
    """Returns how often a normal difference is below 0, and by how much then on average."""
    rng = random.Random(7)
    below = [-value for value in (rng.gauss(mean, sigma) for _ in range(200_000)) if value < 0]
    return len(below) / 200_000, fmean(below)


def test_the_chance_and_the_loss_are_those_of_a_normal_difference() -> None:
    one = doubting(a=0.15, b=0.2)
    stay, then = one.stay, one.forecast(TWO_B)
    found = risk_of(one, stay, [then])
    rest = (stay.remaining_usd + then.remaining_usd) / 2
    sigma = math.hypot(rest * math.hypot(0.15, 0.2), SWITCH_SD * then.switching_usd)
    chance, loss = drawn(then.remaining_usd - stay.remaining_usd, sigma)
    assert found.rival == TWO_B
    assert found.chance_wrong == pytest.approx(chance, abs=0.005)
    assert found.wrong_usd == pytest.approx(loss, rel=0.03)
    assert (found.wrong_s, found.chance_kept) == (None, None)


def test_for_the_least_time_the_loss_is_in_seconds() -> None:
    one = doubting(Objective.TIME, a=0.1, b=0.2)
    found = risk_of(one, one.forecast(TWO_B), [one.stay])
    stay, then = one.stay, one.forecast(TWO_B)
    rest = (stay.remaining_s + then.remaining_s) / 2
    sigma = math.hypot(rest * math.hypot(0.1, 0.2), SWITCH_SD * TIMES.grow_s)
    chance, loss = drawn(stay.remaining_s - then.remaining_s, sigma)
    assert found.chance_wrong == pytest.approx(chance, abs=0.002)
    assert found.wrong_s == pytest.approx(loss, rel=0.1)
    assert found.wrong_usd is None


def test_what_both_fleets_share_raises_no_doubt() -> None:
    one = doubting(a=0.5)
    three = one.forecast(Fleet({"a": 3}))
    cheaper = min(one.stay, three, key=one.worth)
    other = three if cheaper is one.stay else one.stay
    assert risk_of(one, cheaper, [other]).chance_wrong == pytest.approx(0.0, abs=1e-6)


def test_the_likeliest_rival_is_named() -> None:
    one = doubting(a=0.05, b=0.3)
    rivals = [one.forecast(Fleet({"a": 1})), one.forecast(TWO_B)]
    assert risk_of(one, one.stay, rivals).rival == TWO_B


@pytest.mark.parametrize(
    ("left_share", "rival"), [(1.5, TWO_B), (0.9, None), (0.1, TWO_B)], ids=["both", "only the chosen one", "neither"]
)
def test_a_fleet_that_misses_the_deadline_which_the_chosen_one_keeps_is_no_rival(
    left_share: float, rival: Fleet | None
) -> None:
    """The time that is left is a share of what the rival needs. It needs longer than the chosen fleet."""
    free = doubting(b=0.3)
    fast, slow = sorted((free.forecast(Fleet({"a": 3, "b": 2})), free.forecast(TWO_B)), key=lambda one: one.remaining_s)
    assert slow.target == TWO_B and fast.remaining_s < 0.9 * slow.remaining_s
    one = doubting(limits=Limits(deadline_at=NOW + left_share * slow.remaining_s), b=0.3)
    found = risk_of(one, one.forecast(fast.target), [one.forecast(slow.target)])
    assert found.rival == rival and bool(found.chance_wrong) is (rival is not None)


def on_spot(one: Forecaster, flavor: str) -> Forecaster:
    """The same, where one of the flavors `a` and `b` is bought on the spot market."""
    flavors = {f: Flavor(f, Market.SPOT if f == flavor else Market.ON_DEMAND) for f in ("a", "b")}
    settings = replace(one.situation.settings, flavors=flavors)
    return replace(one, situation=replace(one.situation, settings=settings))


class Case(NamedTuple):
    """The rest of the work on two fleets, the second of which is worse by `worse`."""

    one: Forecaster
    chosen: Forecast
    rival: Forecast
    worse: float
    sigma: float


TWO_A_RATHER = Forecast(Fleet({"a": 2}), 90.0, 8.0, 0.5)
A_AND_B = Forecast(Fleet({"a": 1, "b": 1}), 100.0, 8.1, 0.5)
ON_TIME = doubting(Objective.TIME)
CASES = {
    "what the switches cost": Case(
        doubting(), TWO_A_RATHER, replace(A_AND_B, switching_usd=0.3), worse=0.1, sigma=SWITCH_SD * 0.2
    ),
    "how long new nodes need": Case(ON_TIME, TWO_A_RATHER, A_AND_B, worse=10.0, sigma=SWITCH_SD * TIMES.grow_s),
    "spot nodes, half of one fleet's price and a seventh of the other's": Case(
        on_spot(doubting(), "a"), TWO_A_RATHER, A_AND_B, worse=0.1, sigma=8.05 * SPOT_LOG_SD * (2 / 4 - 1 / 7)
    ),
    "the switches and spot nodes": Case(
        on_spot(doubting(), "a"),
        TWO_A_RATHER,
        replace(A_AND_B, switching_usd=0.1),
        worse=0.1,
        sigma=math.hypot(SWITCH_SD * 0.4, 8.05 * SPOT_LOG_SD * (2 / 4 - 1 / 7)),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_each_thing_that_may_turn_out_otherwise_raises_doubt_by_its_own_measure(case: Case) -> None:
    found = risk_of(case.one, case.chosen, [case.rival])
    z, normal = case.worse / case.sigma, NormalDist()
    assert found.rival == case.rival.target
    assert found.chance_wrong == pytest.approx(normal.cdf(-z))
    loss = case.sigma * normal.pdf(z) / normal.cdf(-z) - case.worse
    assert (found.wrong_usd, found.wrong_s) == (
        (None, pytest.approx(loss)) if case.one is ON_TIME else (pytest.approx(loss), None)
    )


def test_where_nothing_can_turn_out_otherwise_nothing_can_be_lost() -> None:
    assert risk_of(doubting(), TWO_A_RATHER, [A_AND_B]) == Risk(A_AND_B.target, 0.0, wrong_usd=0.0)


def test_spot_prices_raise_doubt() -> None:
    sure, spot = doubting(), on_spot(doubting(), "b")
    chances = [risk_of(one, one.stay, [one.forecast(TWO_B)]).chance_wrong or 0.0 for one in (sure, spot)]
    assert chances[0] < 1e-6 < chances[1] < 0.5
    assert SPOT_LOG_SD == 0.15


def test_a_fleet_without_a_rival_or_of_unknown_speed_raises_none() -> None:
    one = doubting()
    assert risk_of(one, one.stay, [one.stay]) == Risk()
    unknown = replace(one.stay, target=UNKNOWN)
    assert risk_of(one, unknown, [one.stay]) == Risk()


@pytest.mark.parametrize("objective", Objective)
def test_the_chance_to_keep_the_deadline_is_told_with_a_rival_or_without(objective: Objective) -> None:
    one = doubting(objective, Limits(deadline_at=NOW + 5000.0), a=0.05)
    alone, beside = (risk_of(one, one.stay, rivals) for rivals in ([], [one.forecast(TWO_B)]))
    assert alone == Risk(chance_kept=pytest.approx(0.5, abs=1e-4))
    assert (beside.rival, beside.chance_kept) == (TWO_B, pytest.approx(0.5, abs=1e-4))


def test_a_faster_fleet_that_could_make_up_for_a_delay_raises_the_chance_to_keep_the_deadline() -> None:
    one = doubting(limits=Limits(deadline_at=NOW + 5200.0), a=0.05)
    slow, fast = (risk_of(one, one.stay, [], fastest_step_s).chance_kept or 0.0 for fastest_step_s in (None, 1.0))
    assert slow == chance_kept(one, one.stay) < fast == chance_kept(one, one.stay, 1.0)


def test_of_a_fleet_of_unknown_speed_no_chance_to_keep_the_deadline_is_told() -> None:
    one = doubting(limits=Limits(deadline_at=NOW + 5000.0))
    assert risk_of(one, replace(one.stay, target=UNKNOWN), []) == Risk()
