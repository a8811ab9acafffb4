"""The chance that a decision is wrong, and what that would cost.

The difference D of what the rest costs (or takes) on two fleets is taken as normal around its forecast m, with the
variance

    sigma^2 = (R se)^2 + (SWITCH_SD d_switch)^2 + (R SPOT_LOG_SD d_spot)^2

R is what the rest costs, se the standard error of the difference of the logarithms by the delta method, d_switch the
difference of what the switches cost, d_spot that of the shares that spot nodes have in the fleets' prices. If the
chosen fleet is expected to be better by m, the other one is better with the chance Phi(-m / sigma), and then by
sigma phi(m / sigma) / Phi(-m / sigma) - m on average (the mean of a truncated normal).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.risk import SWITCH_SD, chance_kept
from controller.domain import Fleet, Market, Risk
from controller.domain.objective import Objective

SPOT_LOG_SD = 0.15
"""How far what spot nodes cost may be off over the rest of the work: prices change, and interruptions are chance."""
LEAST_SD = 1e-9
"""No difference is surer than to a billionth of a dollar or of a second."""
_NORMAL = NormalDist()


def risk_of(
    forecaster: Forecaster, chosen: Forecast, rivals: Iterable[Forecast], fastest_step_s: float | None = None
) -> Risk:
    """Returns how sure it is that no rival is better, and that deadline and budget are kept.

    A rival that does not keep them is no better than one that does, whatever it costs.

    Args:
        forecaster: What is believed.
        chosen: The rest of the work as it was decided.
        rivals: The rest of the work on other fleets.
        fastest_step_s: A step of the fastest fleet that is allowed, in seconds; None where no deadline asks for it.
    """
    kept = chance_kept(forecaster, chosen, fastest_step_s) if forecaster.model.knows(chosen.target) else None
    others = [rival for rival in rivals if rival.target != chosen.target and _is_as_good(forecaster, rival, chosen)]
    if not others or not forecaster.model.knows(chosen.target):
        return Risk(chance_kept=kept)
    doubts = {rival.target: _doubt(forecaster, chosen, rival) for rival in others}
    fleet = max(doubts, key=lambda target: doubts[target])
    chance, loss = doubts[fleet]
    if forecaster.situation.settings.objective is Objective.COST:
        return Risk(fleet, chance, wrong_usd=loss, chance_kept=kept)
    return Risk(fleet, chance, wrong_s=loss, chance_kept=kept)


def _is_as_good(forecaster: Forecaster, rival: Forecast, chosen: Forecast) -> bool:
    """Tells whether a rival keeps deadline and budget, or the chosen fleet does not keep them either."""
    return forecaster.keeps(rival, 0.0) or not forecaster.keeps(chosen, 0.0)


def _doubt(forecaster: Forecaster, chosen: Forecast, rival: Forecast) -> tuple[float, float]:
    """Returns the chance that the rival is better, and by how many dollars or seconds it then is."""
    better = forecaster.worth(rival) - forecaster.worth(chosen)
    sigma = max(_difference_sd(forecaster, chosen, rival), LEAST_SD)
    chance = _NORMAL.cdf(-better / sigma)
    if chance < 1e-9:
        return 0.0, 0.0
    return chance, sigma * _NORMAL.pdf(better / sigma) / chance - better


def _difference_sd(forecaster: Forecaster, chosen: Forecast, rival: Forecast) -> float:
    """Returns the standard deviation of the difference of two forecasts, in dollars or seconds."""
    model, settings = forecaster.model, forecaster.situation.settings
    rest = (forecaster.worth(chosen) + forecaster.worth(rival)) / 2
    speeds = rest * model.log_cost_difference_se(chosen.target, rival.target)
    if settings.objective is Objective.TIME:
        return math.hypot(speeds, SWITCH_SD * settings.switching.grow_s)
    switch_usd = SWITCH_SD * (chosen.switching_usd - rival.switching_usd)
    spot = _spot_share(forecaster, chosen.target) - _spot_share(forecaster, rival.target)
    return math.hypot(speeds, switch_usd, rest * SPOT_LOG_SD * spot)


def _spot_share(forecaster: Forecaster, fleet: Fleet) -> float:
    """Returns the share of a fleet's dollars an hour that goes to spot nodes."""
    flavors, model = forecaster.situation.settings.flavors, forecaster.model
    spot = [f for f in fleet.present if f in flavors and flavors[f].market is Market.SPOT]
    usd = sum(fleet.count(flavor) * model.usd_per_hour[flavor] for flavor in spot)
    return usd / model.fleet_usd_per_hour(fleet)
