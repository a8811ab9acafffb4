"""How far forecasts may be off, and with which chance a deadline and a budget are kept.

The time T for the rest of the work is taken as log-normal around its forecast. At z standard deviations it is longer by
the factor exp(late(z)), where

    late(z)^2 = correctable(z sigma_speeds)^2 + (z sigma_rest)^2
    sigma_speeds^2 = sum_f (d ln T / d ln s_f)^2 se_f^2 + NODE_LOG_SD^2 n_new / N^2
                     + (SIZE_LOG_SD ln(N / N_measured) t_comm / T_step)^2                  (delta method)
    sigma_rest^2 = MODEL_LOG_SD^2 + (SWITCH_SD grow_s lost / T)^2

The present fleet works until new nodes have joined, so that a second's delay costs the share `lost` of it: 1 less the
step time there over the present one. Where nothing runs, or a budget is to be kept, it costs the whole second.

Speeds that are lower than believed show as soon as they are measured. A faster fleet can then make up for them, as far
as there is one. Of an error of d (in logarithms), what counts is the part that lies before that, and what the fastest
fleet, faster by r, cannot make up for:

    correctable(d) = min(d, r) t / T + max(0, d - r),     t = the time until it shows and new nodes work

The chance to keep a deadline that leaves the time L is Phi(z) with late(z) = ln(L / T), and the share to spare that a
confidence c asks for is exp(late(z_c)) - 1. Budgets are treated alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from controller.decide.limits.bounds import Bounds
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import LEAST_MARGIN, Forecaster
from controller.domain import Fleet

NODE_LOG_SD = 0.03
"""How far nodes of one flavor differ."""
SIZE_LOG_SD = 0.3
"""How far the logarithm of the communication may be off for each unit of ln(N / N_measured). It lies between "the same
at any size" and "in proportion to the size"."""
MODEL_LOG_SD = 0.01
"""Interruptions, bad nodes until they are replaced, and what nobody knows."""
SWITCH_SD = 0.5
"""How far the time that a new node needs may be off, as a share of what is expected."""
MOST_Z = 8.0
NORMAL = NormalDist()


@dataclass(frozen=True)
class Spread:
    """How far the time for the rest of the work may be off on one fleet, in logarithms."""

    speeds: float
    rest: float
    room: float = 0.0
    """By how much the fastest fleet is faster."""
    share_until_seen: float = 1.0
    """The share of the rest of the work that is over before an error shows and is made up for."""

    def late(self, z: float) -> float:
        """Returns by how much longer the rest takes at `z` standard deviations. Only what is late is made up for."""
        error = z * self.speeds
        if z <= 0:
            return -math.hypot(error, z * self.rest)
        uncorrected = min(error, self.room) * self.share_until_seen + max(0.0, error - self.room)
        return math.hypot(uncorrected, z * self.rest)


def spread(
    forecaster: Forecaster, target: Fleet, fastest_step_s: float | None = None, *, works_meanwhile: bool = True
) -> Spread:
    """Returns how far the rest's time may be off if the fleet becomes `target` now.

    Args:
        forecaster: What is believed.
        target: The fleet.
        fastest_step_s: A step of the fastest fleet that is allowed; None: nothing can be made up for.
        works_meanwhile: Whether the present fleet works until new nodes have joined.
    """
    model = forecaster.model
    if not model.knows(target):
        return Spread(0.0, MODEL_LOG_SD)
    speeds = sum((share * model.log_se.get(f, 0.0)) ** 2 for f, share in model.log_cost_gradient(target).items())
    added = target.beyond(forecaster.situation.current).size
    settings, step_s = forecaster.situation.settings, model.step_time_s(target)
    remaining_s = max(forecaster.remaining_steps * step_s, 1e-9)
    lost = _lost_share(forecaster, step_s) if works_meanwhile else 1.0
    late_s = SWITCH_SD * settings.switching.grow_s * lost if added else 0.0
    until_seen_s = settings.cooldown_s + 2 * settings.switching.grow_s + settings.minimum_window * step_s
    return Spread(
        speeds=math.sqrt(speeds + NODE_LOG_SD**2 * added / target.size**2 + _communication_sd(forecaster, target) ** 2),
        rest=math.hypot(MODEL_LOG_SD, min(1.0, late_s / remaining_s)),
        room=0.0 if fastest_step_s is None else max(0.0, math.log(step_s / fastest_step_s)),
        share_until_seen=min(1.0, until_seen_s / remaining_s),
    )


def _lost_share(forecaster: Forecaster, step_s: float) -> float:
    """Returns which share of the seconds that new nodes come late is lost, 0 to 1."""
    current = forecaster.situation.current
    if forecaster.money_left_usd is not None or not current.size or not forecaster.knows_current:
        return 1.0
    return max(0.0, 1 - step_s / forecaster.model.step_time_s(current))


def _communication_sd(forecaster: Forecaster, target: Fleet) -> float:
    """Returns how far a step's time may be off because communication was not measured at this world size."""
    measured = forecaster.situation.communication.measured_s
    if not measured:
        return 0.0
    model, size = forecaster.model, target.size
    apart = min(abs(math.log(size / other)) for other in measured)
    return SIZE_LOG_SD * apart * model.communication_s(size) / model.step_time_s(target)


def margin(
    forecaster: Forecaster, target: Fleet, fastest_step_s: float | None = None, *, works_meanwhile: bool = True
) -> float:
    """Returns the share of time and money to spare with which a fleet keeps deadline and budget surely enough.

    Args:
        forecaster: What is believed.
        target: The fleet.
        fastest_step_s: A step of the fastest fleet that is allowed; None: nothing can be made up for.
        works_meanwhile: Whether the present fleet works until new nodes have joined.
    """
    if not forecaster.has_deadline_or_budget:
        return 0.0
    z = NORMAL.inv_cdf(forecaster.confidence)
    one = spread(forecaster, target, fastest_step_s, works_meanwhile=works_meanwhile)
    return max(0.0, math.expm1(one.late(z)))


def chance_kept(forecaster: Forecaster, forecast: Forecast, fastest_step_s: float | None = None) -> float | None:
    """Returns the chance that deadline and budget are kept, 0 to 1; None without either.

    Args:
        forecaster: What is believed.
        forecast: The rest of the work.
        fastest_step_s: A step of the fastest fleet that is allowed; None: nothing can be made up for.
    """
    if not forecaster.has_deadline_or_budget:
        return None
    to_spare = forecaster.to_spare(forecast)
    if to_spare <= -1:
        return 0.0
    one, wanted = spread(forecaster, forecast.target, fastest_step_s), math.log1p(to_spare)
    low, high = -MOST_Z, MOST_Z
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if one.late(middle) < wanted else (low, middle)
    return NORMAL.cdf(low)


def usual_bounds(forecaster: Forecaster) -> Bounds:
    """Returns the bounds with deadline and budget, kept as surely as the present fleet would have to keep them."""
    return forecaster.bounds_within(max(LEAST_MARGIN, margin(forecaster, forecaster.situation.current)))
