"""When not to move, whatever would be cheaper: each refusal with its reason."""

from __future__ import annotations

from controller.decide.model import FleetModel
from controller.decide.situation import Situation
from controller.domain import Fleet


def busy_reason(situation: Situation) -> str | None:
    """Why no move may begin now: one is under way, or the cool-down after the last has not passed."""
    moves = situation.history.moves
    if not moves:
        return None
    last = moves[-1]
    if not last.phase.is_final:
        return f"move {last.move_id} to {last.target} is under way ({last.phase.value})"
    ended_at = last.at if last.ended_at is None else last.ended_at
    left_s = ended_at + situation.settings.cooldown_s - situation.now
    if left_s > 0:
        return f"the cool-down after move {last.move_id} lasts another {left_s:.0f} s"
    return None


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


def overlap_reason(situation: Situation, model: FleetModel, target: Fleet) -> str | None:
    """Why the evidence is too thin: the two costs per token are not far enough apart for their intervals."""
    current_cost, target_cost = model.usd_per_token(situation.current), model.usd_per_token(target)
    se = model.log_cost_difference_se(situation.current, target)
    saving = 1 - target_cost / current_cost
    if saving <= situation.settings.confidence_z * se:
        return (
            f"{target} looks {saving:.1%} cheaper per token, which is within the uncertainty of what was measured"
            f" ({situation.settings.confidence_z * se:.1%})"
        )
    return None
