"""The default: the fleet with the least cost for the remaining work, reached in one move, and only where it pays."""

from __future__ import annotations

from controller.decide.limits import infeasible_reason
from controller.decide.model import FleetModel
from controller.decide.search import best_fleet
from controller.decide.situation import Situation
from controller.decide.stability import busy_reason, ending_reason, overlap_reason
from controller.decide.switching import switching_usd
from controller.domain import Decision, Fleet, Verdict


class CheapestFleet:
    """The least J over all fleets within the limits."""

    name = "cheapest-fleet"

    def decide(self, situation: Situation) -> Decision:
        """Compare the present fleet with the best one, and move where the saving is worth the switch."""
        bounds, settings = situation.bounds, situation.settings
        infeasible = infeasible_reason(bounds, situation.usd_per_hour, settings.head_usd_per_hour)
        if infeasible:
            return situation.decision(Verdict.REFUSE, infeasible)
        waiting = busy_reason(situation)
        if waiting:
            return situation.decision(Verdict.STAY, waiting)
        model = situation.model()
        if model is None:
            return situation.decision(Verdict.STAY, "waiting for the first facts of the training")
        unmeasured = sorted(f for f in situation.current.present if f not in situation.measured)
        if unmeasured:
            return situation.decision(Verdict.STAY, f"waiting for enough facts of {', '.join(unmeasured)}")
        if not model.knows(situation.current):
            faults = ", ".join(f"{f}: {why}" for f, why in situation.price_faults.items() if situation.current.count(f))
            return situation.decision(Verdict.REFUSE, f"what runs cannot be priced ({faults or 'no nodes run'})")
        ending = ending_reason(situation, model)
        if ending:
            return situation.decision(Verdict.STAY, ending)
        found = best_fleet(model, bounds)
        if found is None:
            return situation.decision(Verdict.REFUSE, "no fleet of measured flavors is within the limits")
        return self._weigh(situation, model, found.fleet)

    def _weigh(self, situation: Situation, model: FleetModel, target: Fleet) -> Decision:
        """Whether the target is worth the switch."""
        settings, current = situation.settings, situation.current
        fleets = tuple(model.estimate(fleet, situation.remaining_steps) for fleet in (current, target))
        now_usd, then_usd = fleets[0].remaining_usd, fleets[1].remaining_usd
        assert now_usd is not None and then_usd is not None
        if target == current:
            return situation.decision(Verdict.STAY, f"{current} is the cheapest fleet within the limits", fleets=fleets)
        switch = switching_usd(current, target, situation.usd_per_hour, settings.head_usd_per_hour, settings.switching)
        saving = now_usd - then_usd - switch
        needed = max(settings.saving_margin * now_usd, settings.switching_margin * switch)
        if saving <= needed:
            reason = (
                f"{target} would save ${saving:.4f} of the ${now_usd:.4f} that remain, after ${switch:.4f} for"
                f" switching; a move needs more than ${needed:.4f}"
            )
            return situation.decision(Verdict.REFUSE, reason, None, fleets, saving, switch)
        overlap = overlap_reason(situation, model, target)
        if overlap:
            return situation.decision(Verdict.REFUSE, overlap, None, fleets, saving, switch)
        reason = (
            f"{target} costs {1 - then_usd / now_usd:.0%} less per token than {current}: saves ${saving:.4f} of the"
            f" ${now_usd:.4f} that remain, after ${switch:.4f} for switching"
        )
        return situation.decision(Verdict.MOVE, reason, target, fleets, saving, switch)
