"""The policy `price-time`: one node a move, from the most expensive flavor to the cheapest, until all are alike.

It is the rule of the experiment that Centavo began with, corrected: the measure is price x *compute* time per token, as
the median over nodes and windows. The experiment took one raw sample of the whole iteration, in which every rank is as
slow as the slowest.
"""

from __future__ import annotations

from controller.decide.limits.bounds import SLACK
from controller.decide.model.situation import Situation
from controller.decide.policies.decided import decided, nothing_to_decide
from controller.domain import Decision, Verdict
from controller.domain.reasons.deciding import (
    AllOneFlavor,
    NoRoomForCheaperFlavor,
    OneNodeToCheapest,
    PricesUnknown,
    WaitingForFacts,
)


class PriceTime:
    """Moves one node at a time from the most expensive flavor present to the cheapest flavor present."""

    name = "price-time"

    def decide(self, situation: Situation) -> Decision:
        """Moves one node, stays when all are of one flavor, and waits while a flavor is not measured."""
        return nothing_to_decide(situation) or self._compare(situation)

    def _compare(self, situation: Situation) -> Decision:
        present = situation.current.present
        faults = {flavor: situation.price_faults[flavor] for flavor in present if flavor in situation.price_faults}
        if faults:
            return decided(situation, Verdict.REFUSE, PricesUnknown(faults))
        if len(present) < 2:
            return decided(situation, Verdict.STAY, AllOneFlavor(situation.current))
        unmeasured = situation.unmeasured(present)
        if unmeasured:
            return decided(situation, Verdict.STAY, WaitingForFacts(tuple(unmeasured)))
        return self._swap(situation)

    def _swap(self, situation: Situation) -> Decision:
        """Returns the move of one node. All present flavors are measured and have a price."""
        current = situation.current
        cost = {f: situation.usd_per_hour[f] / situation.measured[f].tokens_per_s for f in current.present}
        by_cost = sorted(cost, key=lambda flavor: (cost[flavor], flavor))
        most_expensive = by_cost[-1]
        with_room = [f for f in by_cost if current.count(f) < situation.bounds.caps.get(f, 0)]
        if not with_room or cost[with_room[0]] >= cost[most_expensive] * (1 - SLACK):
            return decided(situation, Verdict.STAY, NoRoomForCheaperFlavor(most_expensive))
        cheapest = with_room[0]
        target = current.with_count(cheapest, current.count(cheapest) + 1)
        target = target.with_count(most_expensive, target.count(most_expensive) - 1)
        reason = OneNodeToCheapest(cheapest, most_expensive, 1 - cost[cheapest] / cost[most_expensive])
        return decided(situation, Verdict.MOVE, reason, target)
