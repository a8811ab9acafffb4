"""The cases in which the fleet must not move, whatever is cheaper, each with its reason."""

from __future__ import annotations

from collections import Counter

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecaster import LEAST_MARGIN, Forecaster
from controller.decide.model.situation import Situation
from controller.decide.samples.windows import is_usable
from controller.domain import Fleet, Move, MovePhase
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
    SpeedHasFallen,
    WaitingForFacts,
    WithinUncertainty,
)

AGREEING_LOG_SE = 0.10
"""The windows of a probe agree where the standard error of the logarithm of its speed is at most this."""

PATIENCE = 2.0
"""How many times as long as expected a measurement may take. Then nodes are taken for silent."""


def _last_change_at(situation: Situation) -> float:
    """Returns when the fleet last changed, or the time of the first observation."""
    moves = situation.history.moves
    if moves:
        return moves[-1].changed_at
    return situation.observations[0].at if situation.observations else situation.now


def busy_reason(situation: Situation) -> Reason | None:
    """Returns why no move may begin now: one is under way, or the cool-down after the last one has not passed.

    After a probe that has been measured there is no cool-down, except for the way back (`going_back_reason`). There is
    none either after a move that failed for lack of capacity: the fleet is what it was, and these flavors are barred.
    """
    moves, begun = situation.history.moves, situation.history.move_under_way
    if begun is not None:
        return MoveUnderWay(begun.move_id, begun.target, begun.phase.value)
    if not moves:
        return None
    last = moves[-1]
    is_over = _is_measured_probe(situation, last) or _lacked_capacity(situation, last)
    return None if is_over else _cooling_down(situation, last)


def _lacked_capacity(situation: Situation, last: Move) -> bool:
    """Tells whether the last move was undone because of flavors that are unavailable since."""
    unavailable = situation.history.unavailable
    grown = last.target.beyond(last.source)
    return last.phase is MovePhase.ROLLED_BACK and any(unavailable.get(f, 0.0) > situation.now for f in grown)


def going_back_reason(situation: Situation, target: Fleet) -> Reason | None:
    """Returns why the fleet may not become again what it was before the last move; None where it may, or does not.

    That is the last move that was made: one that failed since does not count.
    """
    made = [move for move in situation.history.moves if move.phase is MovePhase.DONE]
    return _cooling_down(situation, made[-1]) if made and made[-1].source == target else None


def _cooling_down(situation: Situation, last: Move) -> Reason | None:
    left_s = last.changed_at + situation.settings.cooldown_s - situation.now
    return CoolingDown(last.move_id, left_s) if left_s > 0 else None


def _is_measured_probe(situation: Situation, last: Move) -> bool:
    """Tells whether the last move was a probe whose flavors are measured well enough to go on.

    Two windows at least have to agree: a single one may be far off. Of a flavor that was measured before, its new nodes
    have to report, too.
    """
    if not last.is_probe or last.phase is not MovePhase.DONE:
        return False
    least_steps = 2 * situation.settings.minimum_window
    new = last.target.beyond(last.source).present
    speeds = [situation.measured.get(flavor) for flavor in new]
    are_measured = all(s is not None and s.steps >= least_steps and s.log_se <= AGREEING_LOG_SE for s in speeds)
    return are_measured and new.keys() <= _reporting(situation).keys()


def _reporting(situation: Situation) -> Counter[str]:
    """Returns how many nodes of each flavor report at the moment."""
    now, settings = situation.observations[-1:], situation.settings
    return Counter(fact.flavor for seen in now for fact in seen.facts if is_usable(fact, seen.at, settings))


def waiting_reason(situation: Situation) -> Reason | None:
    """Returns which flavors that run have not been measured yet; None once they have had time enough."""
    if not situation.current.size:
        return NoWorkerRuns()
    missing = [*situation.unmeasured(situation.current.present), *_probed_again(situation)]
    waited_s = situation.now - _last_change_at(situation)
    if situation.fallen:
        return SpeedHasFallen(tuple(situation.fallen))
    if missing and (waited_s < _patience_s(situation) or not situation.measured):
        return WaitingForFacts(tuple(missing))
    return None


def _probed_again(situation: Situation) -> list[str]:
    """Returns the flavors that were measured before, and of which the last move added a node that has not reported."""
    moves = situation.history.moves
    if not moves or moves[-1].phase is not MovePhase.DONE or situation.current != moves[-1].target:
        return []
    reported = _reporting(situation)
    again = [flavor for flavor in moves[-1].probed if flavor in situation.measured]
    return [flavor for flavor in again if reported[flavor] < situation.current.count(flavor)]


def _patience_s(situation: Situation) -> float:
    """Returns how long the facts of nodes that run are waited for.

    That is `measure_timeout_s`, or `PATIENCE` times as long as the other nodes need for the steps of a probe.
    """
    settings, model = situation.settings, situation.model()
    known = Fleet({flavor: n for flavor, n in situation.current.present.items() if flavor in situation.measured})
    if model is None or not known.size:
        return settings.measure_timeout_s
    return max(settings.measure_timeout_s, PATIENCE * settings.probe_steps * model.step_time_s(known))


def ending_reason(situation: Situation, model: FleetModel) -> Reason | None:
    """Returns why it is too late for a move; None where enough of the work remains, or the deadline asks for one."""
    progress, settings = situation.progress, situation.settings
    if progress is None or not progress.total_steps:
        return ProgressUnknown()
    if not progress.remaining_steps:
        return NoStepsLeft()
    share = progress.remaining_steps / progress.total_steps
    if share < settings.end_guard_share and not _is_late(situation, model):
        return FewStepsLeft(share, settings.end_guard_share)
    if model.knows(situation.current):
        remaining_s = progress.remaining_steps * model.step_time_s(situation.current)
        guard_s = max(settings.end_guard_s, settings.switching.grow_s)
        if remaining_s < guard_s:
            return EndsSoon(remaining_s, guard_s)
    return None


def _is_late(situation: Situation, model: FleetModel) -> bool:
    """Tells whether the present fleet is expected to miss the deadline."""
    forecaster = Forecaster.of(situation, model, situation.bounds)
    if forecaster.time_left_s is None or not forecaster.knows_current:
        return False
    return forecaster.overrun(forecaster.stay, LEAST_MARGIN).seconds > 0


def overlap_reason(forecaster: Forecaster, target: Fleet) -> WithinUncertainty | None:
    """Returns that the fleets differ by less than the uncertainty of their speeds; None where they differ by more."""
    current, settings = forecaster.situation.current, forecaster.situation.settings
    if settings.objective is Objective.TIME:
        gain = 1 - forecaster.step_time_s(target) / forecaster.step_time_s(current)
    else:
        gain = 1 - forecaster.usd_per_step(target) / forecaster.usd_per_step(current)
    doubt = settings.confidence_z * forecaster.model.log_cost_difference_se(current, target)
    return None if gain > doubt else WithinUncertainty(target, gain, doubt, settings.objective.value)
