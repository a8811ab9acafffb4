"""The chance that another fleet would have been better, and by how much, beside random numbers."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import fmean

import pytest

from controller.decide.model.doubt import SPOT_LOG_SD, risk_of
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.risk import SWITCH_SD
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


def test_spot_prices_raise_doubt() -> None:
    sure, spot = doubting(), doubting()
    flavors = {"a": Flavor("a"), "b": Flavor("b", Market.SPOT)}
    spot = replace(spot, situation=replace(spot.situation, settings=replace(spot.situation.settings, flavors=flavors)))
    chances = [risk_of(one, one.stay, [one.forecast(TWO_B)]).chance_wrong or 0.0 for one in (sure, spot)]
    assert chances[0] < 1e-6 < chances[1] < 0.5
    assert SPOT_LOG_SD == 0.15


def test_a_fleet_without_a_rival_or_of_unknown_speed_raises_none() -> None:
    one = doubting()
    assert risk_of(one, one.stay, [one.stay]) == Risk()
    unknown = replace(one.stay, target=UNKNOWN)
    assert risk_of(one, unknown, [one.stay]) == Risk()


def test_the_chance_to_keep_the_deadline_is_told_beside() -> None:
    one = doubting(limits=Limits(deadline_at=NOW + 5000.0), a=0.05)
    found = risk_of(one, one.stay, [])
    assert found.chance_kept == pytest.approx(0.5, abs=1e-4)
    assert found.rival is None
