"""The policies of autoscalers: the cheapest instance types by the price list, however much work they do."""

from __future__ import annotations

from collections.abc import Callable

from controller.decide.model.situation import Situation
from controller.decide.policies.decided import decided, nothing_to_decide
from controller.domain import Decision, Fleet, Verdict
from controller.domain.reasons.deciding import CheapestByList, TooFewListed


class ListPrice:
    """Chooses as many nodes as run now, of the flavors that are cheapest by a measure of the price list."""

    def __init__(self, name: str, measure: str, rank: Callable[[Situation, str], float | None]) -> None:
        self.name, self._measure, self._rank = name, measure, rank

    def decide(self, situation: Situation) -> Decision:
        """Replaces the whole fleet at once when other flavors are cheaper."""
        return nothing_to_decide(situation) or self._replace(situation)

    def _replace(self, situation: Situation) -> Decision:
        target = self._target(situation)
        if target.size < max(1, situation.bounds.min_nodes):
            return decided(situation, Verdict.REFUSE, TooFewListed(self._measure))
        verdict = Verdict.STAY if target == situation.current else Verdict.MOVE
        return decided(situation, verdict, CheapestByList(target, self._measure), target)

    def _target(self, situation: Situation) -> Fleet:
        """Returns the cheapest nodes, as many as run now, within the limits."""
        bounds, counts = situation.bounds, {}
        wanted = max(bounds.min_nodes, 1, situation.current.size)
        wanted = wanted if bounds.max_nodes is None else min(wanted, bounds.max_nodes)
        ranks = {flavor: self._rank(situation, flavor) for flavor in bounds.caps}
        known = [(rank, flavor) for flavor, rank in ranks.items() if rank is not None]
        for _, flavor in sorted(known):
            counts[flavor] = min(bounds.caps[flavor], wanted)
            wanted -= counts[flavor]
        return Fleet(counts)


def _usd_per_hour(situation: Situation, flavor: str) -> float | None:
    return situation.usd_per_hour[flavor]


def _usd_per_vcpu_hour(situation: Situation, flavor: str) -> float | None:
    known = situation.settings.flavors.get(flavor)
    return situation.usd_per_hour[flavor] / known.vcpus if known is not None and known.vcpus else None


HOURLY_PRICE = ListPrice("hourly-price", "price per hour", _usd_per_hour)
VCPU_PRICE = ListPrice("vcpu-price", "price per vCPU", _usd_per_vcpu_hour)
