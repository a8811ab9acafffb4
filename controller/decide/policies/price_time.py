"""The seed experiment's rule, mended: one node a move, from the dearest flavor to the cheapest, until all are alike.

The measure is price x *compute* time per token, as the median over nodes and windows. The seed took one raw sample
of the whole iteration, in which every rank is as slow as the slowest.
"""

from __future__ import annotations

from controller.decide.limits.bounds import SLACK
from controller.decide.model.situation import Situation
from controller.decide.policies.base import nothing_to_decide
from controller.domain import Decision, Verdict


class PriceTime:
    """One node from the dearest flavor present to the cheapest flavor present."""

    name = "price-time"

    def decide(self, situation: Situation) -> Decision:
        """Move one node, stay when all are of one flavor, wait while a flavor is not measured."""
        return nothing_to_decide(situation) or self._compare(situation)

    def _compare(self, situation: Situation) -> Decision:
        present = situation.current.present
        unpriced = [flavor for flavor in present if flavor in situation.price_faults]
        if unpriced:
            faults = ", ".join(f"{flavor}: {situation.price_faults[flavor]}" for flavor in unpriced)
            return situation.decision(Verdict.REFUSE, f"not every flavor can be priced ({faults})")
        if len(present) < 2:
            return situation.decision(Verdict.STAY, f"all nodes are of one flavor: {situation.current}")
        unmeasured = sorted(flavor for flavor in present if flavor not in situation.measured)
        if unmeasured:
            return situation.decision(Verdict.STAY, f"waiting for enough facts of {', '.join(unmeasured)}")
        return self._swap(situation)

    def _swap(self, situation: Situation) -> Decision:
        """The move of one node. All present flavors are measured and priced."""
        current = situation.current
        cost = {f: situation.usd_per_hour[f] / situation.measured[f].tokens_per_s for f in current.present}
        by_cost = sorted(cost, key=lambda flavor: (cost[flavor], flavor))
        dearest = by_cost[-1]
        with_room = [f for f in by_cost if current.count(f) < situation.bounds.caps.get(f, 0)]
        if not with_room or cost[with_room[0]] >= cost[dearest] * (1 - SLACK):
            return situation.decision(Verdict.STAY, f"no flavor that is cheaper than {dearest} has room for a node")
        cheapest = with_room[0]
        target = current.with_count(cheapest, current.count(cheapest) + 1)
        target = target.with_count(dearest, target.count(dearest) - 1)
        reason = (
            f"price x compute time per token: {cheapest} is the cheapest,"
            f" {1 - cost[cheapest] / cost[dearest]:.0%} below {dearest}, the dearest; one node moves"
        )
        return situation.decision(Verdict.MOVE, reason, target)
