"""The cases in which the fleet must not move, whatever is cheaper, each with its reason."""

from __future__ import annotations

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.situation import Situation
from controller.domain import Fleet
from controller.domain.objective import Objective
from controller.domain.reasons import Reason
from controller.domain.reasons.deciding import (
    CoolingDown,
    EndsSoon,
    FewStepsLeft,
    MoveUnderWay,
    NoStepsLeft,
    NoWorkerRuns,
    ProgressUnknown,
    WaitingForFacts,
    WithinUncertainty,
)


def _last_change_at(situation: Situation) -> float:
    """Returns when the fleet last changed, or the time of the first observation."""
    moves = situation.history.moves
    if moves:
        return moves[-1].at if moves[-1].ended_at is None else moves[-1].ended_at
    return situation.observations[0].at if situation.observations else situation.now


def busy_reason(situation: Situation) -> Reason | None:
    """Returns why no move may begin now: one is under way, or the cool-down after the last one has not passed."""
    moves = situation.history.moves
    if not moves:
        return None
    last = moves[-1]
    if not last.phase.is_final:
        return MoveUnderWay(last.move_id, last.target, last.phase.value)
    left_s = _last_change_at(situation) + situation.settings.cooldown_s - situation.now
    if left_s > 0:
        return CoolingDown(last.move_id, left_s)
    return None


def waiting_reason(situation: Situation) -> Reason | None:
    """Returns which flavors that run have not been measured yet; None once they have had time enough."""
    if not situation.current.size:
        return NoWorkerRuns()
    missing = situation.unmeasured(situation.current.present)
    waited_s = situation.now - _last_change_at(situation)
    if missing and (waited_s < situation.settings.measure_timeout_s or not situation.measured):
        return WaitingForFacts(tuple(missing))
    return None


def ending_reason(situation: Situation, model: FleetModel) -> Reason | None:
    """Returns why it is too late for a move; None where enough of the work remains."""
    progress, settings = situation.progress, situation.settings
    if progress is None or not progress.total_steps:
        return ProgressUnknown()
    if not progress.remaining_steps:
        return NoStepsLeft()
    share = progress.remaining_steps / progress.total_steps
    if share < settings.end_guard_share:
        return FewStepsLeft(share, settings.end_guard_share)
    if model.knows(situation.current):
        remaining_s = progress.remaining_steps * model.step_time_s(situation.current)
        guard_s = max(settings.end_guard_s, settings.switching.grow_s)
        if remaining_s < guard_s:
            return EndsSoon(remaining_s, guard_s)
    return None


def overlap_reason(forecaster: Forecaster, target: Fleet) -> WithinUncertainty | None:
    """Returns that the fleets differ by less than the uncertainty of their speeds; None where they differ by more."""
    current, settings = forecaster.situation.current, forecaster.situation.settings
    if settings.objective is Objective.TIME:
        gain = 1 - forecaster.step_time_s(target) / forecaster.step_time_s(current)
    else:
        gain = 1 - forecaster.usd_per_step(target) / forecaster.usd_per_step(current)
    doubt = settings.confidence_z * forecaster.model.log_cost_difference_se(current, target)
    return None if gain > doubt else WithinUncertainty(target, gain, doubt, settings.objective.value)
