"""The default: the fleet that is best for the remaining work, reached in one move, and only where it pays."""

from __future__ import annotations

from dataclasses import replace

from controller.decide import exploration
from controller.decide.explain import runners_up, scaling
from controller.decide.limits import infeasible_reason
from controller.decide.model import FleetModel
from controller.decide.prior import expected_speeds
from controller.decide.settings import Objective
from controller.decide.situation import Situation
from controller.decide.stability import busy_reason, ending_reason, overlap_reason, silent_flavors, waiting_reason
from controller.decide.weighing import Choice, Outlook
from controller.domain import Decision, Fleet, Verdict


class CheapestFleet:
    """Least cost, or least time, over all fleets within the limits."""

    name = "cheapest-fleet"

    def decide(self, situation: Situation) -> Decision:
        """Compare the present fleet with the best one, and move where that is worth the switch."""
        settings = situation.settings
        infeasible = infeasible_reason(situation.bounds, situation.usd_per_hour, settings.head_usd_per_hour)
        if infeasible:
            return situation.decision(Verdict.REFUSE, infeasible)
        waiting = busy_reason(situation) or self.waiting_reason(situation)
        if waiting:
            return situation.decision(Verdict.STAY, waiting)
        model = self.model(situation)
        if model is None:
            return situation.decision(Verdict.STAY, "waiting for the first facts of the training")
        ending = ending_reason(situation, model)
        if ending:
            return situation.decision(Verdict.STAY, ending)
        return self._compare(situation, model)

    def waiting_reason(self, situation: Situation) -> str | None:
        """What has to be measured first."""
        return waiting_reason(situation)

    def silent(self, situation: Situation) -> list[str]:
        """Flavors that run and never reported."""
        return silent_flavors(situation)

    def model(self, situation: Situation) -> FleetModel | None:
        """What was measured; of nodes that run and never report a guess, so that they can be replaced."""
        model = situation.model()
        silent = [f for f in situation.current.present if f not in situation.measured]
        if model is None or not silent:
            return model
        guesses = expected_speeds(silent, situation.measured, situation.usd_per_hour, situation.settings)
        return situation.model({**situation.measured, **guesses})

    def _compare(self, situation: Situation, model: FleetModel) -> Decision:
        """Find the best fleet and weigh it against the present one."""
        silent = self.silent(situation)
        caps = {f: cap for f, cap in situation.bounds.caps.items() if f not in silent}
        outlook = Outlook(situation, model, replace(situation.bounds, caps=caps), situation.remaining_steps or 0)
        if not model.knows(situation.current) and outlook.violation is None:
            faults = [f"{f}: {why}" for f, why in situation.price_faults.items() if situation.current.count(f)]
            return situation.decision(
                Verdict.REFUSE, f"what runs cannot be compared ({', '.join(faults) or 'no speed'})"
            )
        choice = outlook.best()
        if choice is None:
            return situation.decision(Verdict.REFUSE, "no fleet of measured flavors is within the limits")
        decision = self._weigh(outlook, choice)
        return self.probe(outlook, decision) or decision

    def _weigh(self, outlook: Outlook, choice: Choice) -> Decision:
        """Whether the chosen fleet is worth the switch."""
        situation, target = outlook.situation, choice.forecast.target
        shortfall = f"; {choice.shortfall}" if choice.shortfall else ""
        if target == situation.current:
            reason = f"{target} is the best fleet within the limits{shortfall}"
            return self._decided(outlook, Verdict.STAY, reason, choice)
        if outlook.compulsion:
            return self._decided(outlook, Verdict.MOVE, f"{outlook.compulsion}{shortfall}", choice)
        refusal = self._too_small(outlook, choice) or self.too_uncertain(outlook, target)
        if refusal:
            return self._decided(outlook, Verdict.REFUSE, refusal + shortfall, choice)
        return self._decided(outlook, Verdict.MOVE, self._gain_in_words(outlook, choice) + shortfall, choice)

    def _too_small(self, outlook: Outlook, choice: Choice) -> str | None:
        """Why the saving is not worth the switch."""
        settings, then = outlook.situation.settings, choice.forecast
        saving, before = outlook.worth(outlook.stay) - outlook.worth(then), outlook.worth(outlook.stay)
        if settings.objective is Objective.TIME:
            needed = settings.saving_margin * before
            return f"{then.target} would save {saving:.0f} s; a move needs {needed:.0f} s" if saving <= needed else None
        needed = max(settings.saving_margin * before, settings.switching_margin * then.switching_usd)
        if saving > needed:
            return None
        return (
            f"{then.target} would save ${saving:.4f} of the ${before:.4f} that remain, after ${then.switching_usd:.4f}"
            f" for switching; a move needs ${needed:.4f}"
        )

    def too_uncertain(self, outlook: Outlook, target: Fleet) -> str | None:
        """Why the evidence is too thin."""
        return overlap_reason(outlook.situation, outlook.model, target)

    def _gain_in_words(self, outlook: Outlook, choice: Choice) -> str:
        """Why the move is right."""
        then, stay, current = choice.forecast, outlook.stay, outlook.situation.current
        if outlook.situation.settings.objective is Objective.TIME:
            return f"{then.target} ends {stay.remaining_s - then.remaining_s:.0f} s sooner than {current}"
        share = 1 - outlook.model.usd_per_token(then.target) / outlook.model.usd_per_token(current)
        return (
            f"{then.target} costs {share:.0%} less per token than {current}: saves"
            f" ${stay.remaining_usd - then.remaining_usd:.4f} of the ${stay.remaining_usd:.4f} that remain,"
            f" after ${then.switching_usd:.4f} for switching"
        )

    def _decided(self, outlook: Outlook, verdict: Verdict, reason: str, choice: Choice) -> Decision:
        """The decision with its evidence."""
        situation, then = outlook.situation, choice.forecast
        compared = dict.fromkeys((situation.current, then.target, *runners_up(outlook)))
        estimates = tuple(outlook.model.estimate(fleet, outlook.remaining_steps) for fleet in compared)
        saving = outlook.stay.remaining_usd - then.remaining_usd if outlook.model.knows(situation.current) else None
        switching = then.switching_usd if then.target != situation.current else None
        decision = situation.decision(verdict, reason, then.target, estimates, saving, switching)
        return replace(decision, scaling=scaling(outlook, then.target))

    def probe(self, outlook: Outlook, decision: Decision) -> Decision | None:
        """A move that measures promising flavors, on top of what is due anyway; None where none is worth it."""
        if not exploration.is_sensible(outlook):
            return None
        base = decision.target
        probes = exploration.worthwhile(outlook, base)
        target = exploration.with_probes(base, probes, outlook) if probes else None
        if target is None:
            return None
        measured = ", ".join(f"{f} (may save ${usd:.4f})" for f, usd in exploration.names(probes).items())
        also = f"; with it: {decision.reason}" if decision.verdict is Verdict.MOVE else ""
        cost = exploration.probe_usd(base, target, outlook.model, outlook)
        return replace(
            decision,
            verdict=Verdict.MOVE,
            target=target,
            reason=f"to measure {measured} for about ${cost:.4f}{also}",
            is_probe=True,
        )
