"""The default: the fleet that is best for the remaining work, reached in one move, and only where it pays."""

from __future__ import annotations

from dataclasses import replace

from controller.decide.explain import runners_up, scaling
from controller.decide.exploration.exploration import Exploration
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.outlook import Forecast, Outlook
from controller.decide.model.prior import expected_speeds
from controller.decide.model.situation import Situation
from controller.decide.policies.base import nothing_to_decide
from controller.decide.policies.stability import ending_reason, overlap_reason, silent_flavors, waiting_reason
from controller.decide.search.choice import Choice, best_choice
from controller.decide.settings import Objective
from controller.domain import Decision, Verdict
from controller.domain.reasons import Said
from controller.words.reasons import reason_in_words


class CheapestFleet:
    """Least cost, or least time, over all fleets within the limits."""

    name = "cheapest-fleet"

    def decide(self, situation: Situation) -> Decision:
        """Compare the present fleet with the best one, and move where that is worth the switch."""
        return nothing_to_decide(situation) or self._weigh_all(situation)

    def _weigh_all(self, situation: Situation) -> Decision:
        waiting = self.waiting_reason(situation)
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
        outlook = Outlook.of(situation, model, replace(situation.bounds, caps=caps))
        if not outlook.knows_current and outlook.violation is None:
            return situation.decision(Verdict.REFUSE, self._incomparable(situation))
        choice = best_choice(outlook)
        if choice is None:
            return situation.decision(Verdict.REFUSE, "no fleet of measured flavors is within the limits")
        decision = self._weigh(outlook, choice)
        base = choice.forecast if decision.verdict is Verdict.MOVE else outlook.stay
        return self.probe(outlook, decision, base) or decision

    def _incomparable(self, situation: Situation) -> str:
        """Why it is not known what the present fleet costs, and what to do."""
        faults = [f"{f}: {why}" for f, why in situation.price_faults.items() if situation.current.count(f)]
        if not faults:
            return "what runs cannot be compared: a flavor's speed is unknown"
        return f"what runs cannot be compared: {', '.join(faults)}; give it a price, or exclude it to move away from it"

    def _weigh(self, outlook: Outlook, choice: Choice) -> Decision:
        """Whether the chosen fleet is worth the switch."""
        situation, target = outlook.situation, choice.forecast.target
        shortfall = f"; {choice.shortfall}" if choice.shortfall else ""
        if target == situation.current:
            reason = f"{target} is the best fleet within the limits{shortfall}"
            return self._decided(outlook, Verdict.STAY, reason, choice)
        if outlook.compulsion:
            return self._decided(outlook, Verdict.MOVE, f"{outlook.compulsion}{shortfall}", choice)
        refusal = self._too_small(outlook, choice) or self.too_uncertain(outlook, choice.forecast)
        if refusal and not self._is_as_good_for_less(outlook, choice.forecast):
            return self._decided(outlook, Verdict.REFUSE, refusal + shortfall, choice)
        return self._decided(outlook, Verdict.MOVE, self._gain_in_words(outlook, choice) + shortfall, choice)

    def _too_small(self, outlook: Outlook, choice: Choice) -> str | None:
        """Why the saving is not worth the switch."""
        settings, then = outlook.situation.settings, choice.forecast
        if settings.objective is Objective.TIME:
            saving_s = outlook.stay.remaining_s - then.remaining_s
            needed_s = settings.saving_margin * outlook.stay.remaining_s
            few = f"{then.target} would save {saving_s:.0f} s; a move needs {needed_s:.0f} s"
            return few if saving_s <= needed_s else None
        before_usd, needed_usd = outlook.stay.remaining_usd, _needed_usd(outlook, then)
        saving_usd = before_usd - then.remaining_usd
        if saving_usd > needed_usd:
            return None
        return (
            f"{then.target} would save {saving_usd:.4f} $ of the {before_usd:.4f} $ that remain, after"
            f" {then.switching_usd:.4f} $ for switching; a move needs {needed_usd:.4f} $"
        )

    def _is_as_good_for_less(self, outlook: Outlook, then: Forecast) -> bool:
        """Where time is what counts: whether the target takes no longer, and saves enough money to be worth it."""
        is_time = outlook.situation.settings.objective is Objective.TIME
        saving_usd = outlook.stay.remaining_usd - then.remaining_usd
        takes_no_longer = then.remaining_s <= outlook.stay.remaining_s
        return is_time and takes_no_longer and saving_usd > _needed_usd(outlook, then)

    def too_uncertain(self, outlook: Outlook, forecast: Forecast) -> str | None:
        """Why the evidence is too thin. That a node is bad is certain enough."""
        return None if forecast.purpose else overlap_reason(outlook, forecast.target)

    def _gain_in_words(self, outlook: Outlook, choice: Choice) -> str:
        """Why the move is right."""
        then, stay, current = choice.forecast, outlook.stay, outlook.situation.current
        saves = (
            f"saves {stay.remaining_usd - then.remaining_usd:.4f} $ of the {stay.remaining_usd:.4f} $ that remain,"
            f" after {then.switching_usd:.4f} $ for switching"
        )
        if then.purpose:
            return f"{then.target} {then.purpose}: {saves}"
        if outlook.situation.settings.objective is Objective.TIME:
            sooner = f"{then.target} ends {stay.remaining_s - then.remaining_s:.0f} s sooner than {current}"
            return f"{sooner}, and {saves}" if then.remaining_usd < stay.remaining_usd else sooner
        share = 1 - outlook.usd_per_step(then.target) / outlook.usd_per_step(current)
        return f"{then.target} costs {share:.0%} less per token than {current}: {saves}"

    def _decided(self, outlook: Outlook, verdict: Verdict, reason: str, choice: Choice) -> Decision:
        """The decision with its evidence."""
        situation, then = outlook.situation, choice.forecast
        compared = dict.fromkeys((situation.current, then.target, *runners_up(outlook)))
        estimates = tuple(outlook.estimate(fleet) for fleet in compared)
        saving = outlook.stay.remaining_usd - then.remaining_usd if outlook.knows_current else None
        switching = then.switching_usd if then.target != situation.current else None
        decision = situation.decision(verdict, reason, then.target, estimates, saving, switching)
        return replace(decision, scaling=scaling(outlook, then.target))

    def probe(self, outlook: Outlook, decision: Decision, base: Forecast) -> Decision | None:
        """A move that measures promising flavors, on top of what is due anyway; None where none is worth it."""
        exploration = Exploration(outlook, base)
        target, probes = exploration.worthwhile()
        if not probes:
            return None
        measured = ", ".join(f"{probe.flavor} (may save {probe.gain_usd:.4f} $)" for probe in probes)
        cost_usd = exploration.cost.planned_usd(target, {probe.flavor: probe.guess.tokens_per_s for probe in probes})
        also = f"; with it: {reason_in_words(decision.reason)}" if decision.verdict is Verdict.MOVE else ""
        return replace(
            decision,
            verdict=Verdict.MOVE,
            target=target,
            reason=Said(f"to measure {measured} for about {cost_usd:.4f} ${also}"),
            is_probe=True,
        )


def _needed_usd(outlook: Outlook, then: Forecast) -> float:
    """Dollars that a move must save: a share of what remains, and of what switching costs."""
    settings = outlook.situation.settings
    return max(settings.saving_margin * outlook.stay.remaining_usd, settings.switching_margin * then.switching_usd)
