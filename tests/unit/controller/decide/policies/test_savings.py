"""Whether a saving is worth the switch: the margins, at the very number where the answer changes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from controller.decide import DecideSettings, DecisionInput, Objective
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.situation import assess
from controller.decide.policies.savings import gain, is_as_fast_for_less, too_small
from controller.domain import Fleet, Limits
from controller.domain.reasons.deciding import (
    CheaperPerToken,
    EndsSooner,
    LeavesBadNodes,
    SavesTooLittle,
    SavesTooLittleTime,
)

TARGET = Fleet({"c5.large": 6})
STAY_S, STAY_USD = 1000.0, 100.0


def forecaster(training: Any, **settings: Any) -> Forecaster:
    """Staying takes 1,000 s and costs $100."""
    given = DecisionInput(
        (training.observe(),),
        training.listed_prices,
        Limits(min_nodes=6, max_nodes=6),
        training.progress,
        settings=DecideSettings(**{"saving_margin": 0.01, "switching_margin": 0.5, **settings}),
    )
    situation = assess(given)
    model = situation.model()
    assert model is not None
    made = Forecaster.of(situation, model, situation.bounds)
    made.__dict__["stay"] = Forecast(situation.current, STAY_S, STAY_USD, 0.0)
    return made


def then(usd: float = STAY_USD, seconds: float = STAY_S, switching_usd: float = 0.0, bad: tuple[str, ...] = ()) -> Any:
    return Forecast(TARGET, seconds, usd, switching_usd, bad)


@pytest.mark.parametrize(
    ("usd", "switching_usd", "needed_usd"),
    [
        (98.75, 0.0, 1.0),
        (99.0, 0.0, 1.0),
        (99.5, 0.0, 1.0),
        (97.0, 6.0, 3.0),
        (96.75, 6.0, 3.0),
        (99.0, 1.0, 1.0),
        (100.0, 6.0, 3.0),
        (101.0, 0.0, 1.0),
    ],
)
def test_a_move_must_save_more_than_a_share_of_what_remains_and_of_what_switching_costs(
    training: Any, usd: float, switching_usd: float, needed_usd: float
) -> None:
    found = too_small(forecaster(training), then(usd, switching_usd=switching_usd))
    if STAY_USD - usd > needed_usd:
        assert found is None
    else:
        assert found == SavesTooLittle(TARGET, STAY_USD - usd, STAY_USD, switching_usd, needed_usd)


@pytest.mark.parametrize("margin", [0.0, 0.25, 2.0])
def test_the_margin_over_the_cost_of_switching_is_the_one_that_is_set(training: Any, margin: float) -> None:
    one = forecaster(training, switching_margin=margin, saving_margin=0.0)
    switching_usd = 8.0
    at = STAY_USD - margin * switching_usd
    assert too_small(one, then(at, switching_usd=switching_usd)) is not None
    assert too_small(one, then(math.nextafter(at, 0.0) - 1e-9, switching_usd=switching_usd)) is None


@pytest.mark.parametrize(("seconds", "is_refused"), [(980.0, False), (989.0, False), (990.0, True), (1001.0, True)])
def test_where_time_is_the_objective_a_move_must_save_a_share_of_the_time(
    training: Any, seconds: float, is_refused: bool
) -> None:
    one = forecaster(training, objective=Objective.TIME)
    expected = SavesTooLittleTime(TARGET, STAY_S - seconds, 10.0) if is_refused else None
    assert too_small(one, then(50.0, seconds)) == expected


@pytest.mark.parametrize(
    ("objective", "usd", "seconds", "is_so"),
    [
        (Objective.TIME, 90.0, STAY_S, True),
        (Objective.TIME, 90.0, STAY_S - 1, True),
        (Objective.TIME, 90.0, STAY_S + 1e-6, False),
        (Objective.TIME, 99.0, STAY_S, False),
        (Objective.TIME, 98.9, STAY_S, True),
        (Objective.TIME, 110.0, STAY_S, False),
        (Objective.COST, 90.0, STAY_S, False),
    ],
)
def test_a_fleet_that_is_as_fast_is_taken_for_the_money_it_saves(
    training: Any, objective: Objective, usd: float, seconds: float, is_so: bool
) -> None:
    assert is_as_fast_for_less(forecaster(training, objective=objective), then(usd, seconds)) is is_so


def test_the_money_it_saves_must_be_worth_the_switch(training: Any) -> None:
    one = forecaster(training, objective=Objective.TIME)
    assert not is_as_fast_for_less(one, then(97.0, switching_usd=6.0))
    assert is_as_fast_for_less(one, then(96.9, switching_usd=6.0))


def test_a_move_gives_as_its_reason_what_it_saves(training: Any) -> None:
    one = forecaster(training)
    current, money = one.situation.current, (20.0, STAY_USD, 2.0)
    share = 1 - one.usd_per_step(TARGET) / one.usd_per_step(current)
    assert 0.0 < share < 1.0
    assert gain(one, then(80.0, switching_usd=2.0)) == CheaperPerToken(TARGET, current, share, *money)
    assert gain(one, then(80.0, switching_usd=2.0, bad=("i-1",))) == LeavesBadNodes(TARGET, ("i-1",), *money)
    fast = forecaster(training, objective=Objective.TIME)
    assert gain(fast, then(80.0, 900.0, 2.0)) == EndsSooner(TARGET, current, 100.0, *money)
    assert gain(fast, then(80.0, 900.0, 2.0, ("i-1",))) == LeavesBadNodes(TARGET, ("i-1",), *money)
