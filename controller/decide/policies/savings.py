"""Whether what a fleet saves is worth the switch, and how a decision gives the reason."""

from __future__ import annotations

from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.domain.objective import Objective
from controller.domain.reasons.deciding import (
    CheaperPerToken,
    EndsSooner,
    LeavesBadNodes,
    SavesTooLittle,
    SavesTooLittleTime,
)
from controller.domain.reasons.limits import Constrained


def too_small(forecaster: Forecaster, then: Forecast) -> Constrained | None:
    """Returns why the saving is not worth the switch; None where it is."""
    settings, stay = forecaster.situation.settings, forecaster.stay
    if settings.objective is Objective.TIME:
        saving_s = stay.remaining_s - then.remaining_s
        needed_s = settings.saving_margin * stay.remaining_s
        return SavesTooLittleTime(then.target, saving_s, needed_s) if saving_s <= needed_s else None
    saving_usd, needed_usd = stay.remaining_usd - then.remaining_usd, _needed_usd(forecaster, then)
    if saving_usd > needed_usd:
        return None
    return SavesTooLittle(then.target, saving_usd, stay.remaining_usd, then.switching_usd, needed_usd)


def is_as_fast_for_less(forecaster: Forecaster, then: Forecast) -> bool:
    """Tells, where the objective is time, whether the target takes no longer and saves enough money."""
    is_time = forecaster.situation.settings.objective is Objective.TIME
    saving_usd = forecaster.stay.remaining_usd - then.remaining_usd
    takes_no_longer = then.remaining_s <= forecaster.stay.remaining_s
    return is_time and takes_no_longer and saving_usd > _needed_usd(forecaster, then)


def gain(forecaster: Forecaster, then: Forecast) -> Constrained:
    """Returns why the move is right."""
    stay, current = forecaster.stay, forecaster.situation.current
    money = (stay.remaining_usd - then.remaining_usd, stay.remaining_usd, then.switching_usd)
    if then.bad_nodes:
        return LeavesBadNodes(then.target, then.bad_nodes, *money)
    if forecaster.situation.settings.objective is Objective.TIME:
        return EndsSooner(then.target, current, stay.remaining_s - then.remaining_s, *money)
    share = 1 - forecaster.usd_per_step(then.target) / forecaster.usd_per_step(current)
    return CheaperPerToken(then.target, current, share, *money)


def _needed_usd(forecaster: Forecaster, then: Forecast) -> float:
    """Returns the dollars that a move must save: a share of what remains, and of what switching costs."""
    settings = forecaster.situation.settings
    return max(settings.saving_margin * forecaster.stay.remaining_usd, settings.switching_margin * then.switching_usd)
