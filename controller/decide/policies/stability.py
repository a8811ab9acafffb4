"""When not to move, whatever would be cheaper: each refusal with its reason."""

from __future__ import annotations

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.outlook import Outlook
from controller.decide.model.situation import Situation
from controller.decide.settings import Objective
from controller.domain import Fleet


def _last_change_at(situation: Situation) -> float:
    """When the fleet last changed, or the first thing that is known."""
    moves = situation.history.moves
    if moves:
        return moves[-1].at if moves[-1].ended_at is None else moves[-1].ended_at
    return situation.observations[0].at if situation.observations else situation.now


def busy_reason(situation: Situation) -> str | None:
    """Why no move may begin now: one is under way, or the cool-down after the last has not passed."""
    moves = situation.history.moves
    if not moves:
        return None
    last = moves[-1]
    if not last.phase.is_final:
        return f"move {last.move_id} to {last.target} is under way ({last.phase.value})"
    left_s = _last_change_at(situation) + situation.settings.cooldown_s - situation.now
    if left_s > 0:
        return f"the cool-down after move {last.move_id} lasts another {left_s:.0f} s"
    return None


def _unmeasured_present(situation: Situation) -> list[str]:
    return sorted(f for f in situation.current.present if f not in situation.measured)


def waiting_reason(situation: Situation) -> str | None:
    """Which flavors that run have not been measured yet; None once they have had their time."""
    if not situation.current.size:
        return "no worker runs, so nothing can be measured"
    missing = _unmeasured_present(situation)
    waited_s = situation.now - _last_change_at(situation)
    if missing and (waited_s < situation.settings.measure_timeout_s or not situation.measured):
        return f"waiting for enough facts of {', '.join(missing)}"
    return None


def silent_flavors(situation: Situation) -> list[str]:
    """Flavors that run and have not reported in their time: they must not win by a guess."""
    return _unmeasured_present(situation)


def ending_reason(situation: Situation, model: FleetModel) -> str | None:
    """Why it is too late for a move: too little of the work remains."""
    progress, settings = situation.progress, situation.settings
    if progress is None or not progress.total_steps:
        return "the progress of the training is not known yet"
    if not progress.remaining_steps:
        return "the training has no steps left"
    share = progress.remaining_steps / progress.total_steps
    if share < settings.end_guard_share:
        return f"only {share:.1%} of the steps remain, and nothing moves below {settings.end_guard_share:.1%}"
    if model.knows(situation.current):
        remaining_s = progress.remaining_steps * model.step_time_s(situation.current)
        guard_s = max(settings.end_guard_s, settings.switching.grow_s)
        if remaining_s < guard_s:
            return f"the work ends in {remaining_s:.0f} s, and nothing moves in the last {guard_s:.0f} s"
    return None


def overlap_reason(outlook: Outlook, target: Fleet) -> str | None:
    """Why the evidence is too thin: the two fleets are not far enough apart for the intervals of their speeds."""
    current, settings = outlook.situation.current, outlook.situation.settings
    if settings.objective is Objective.TIME:
        gain, word = 1 - outlook.step_time_s(target) / outlook.step_time_s(current), "faster"
    else:
        gain, word = 1 - outlook.usd_per_step(target) / outlook.usd_per_step(current), "cheaper per token"
    doubt = settings.confidence_z * outlook.model.log_cost_difference_se(current, target)
    if gain > doubt:
        return None
    return f"{target} looks {gain:.1%} {word}, which is within the uncertainty of what was measured ({doubt:.1%})"
