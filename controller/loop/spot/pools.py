"""The pools that nodes may come from, with what the run knows of them."""

from __future__ import annotations

import sys
from dataclasses import replace

from controller.decide.limits.caps import node_cap, unavailable_reasons
from controller.decide.model.pricing import effective_usd_per_hour, price_fault
from controller.decide.replacing.losses import with_losses
from controller.decide.replacing.pools import Pool, chosen, recent
from controller.decide.settings import DecideSettings
from controller.domain import NO_NODES, FlavorEstimate, Fleet, History, Market, Price
from controller.domain.observed.spot import Shortage, SpotSettings
from controller.domain.prices.price import floor_name
from controller.domain.reasons.flavors import MemoryTooSmall
from controller.loop.decide_settings import decide_settings
from controller.loop.job import Job


class Pools:
    """The pools of one run: each flavor, on the market that Terraform declares for it."""

    def __init__(self, job: Job, settings: SpotSettings) -> None:
        self._job, self._spot = job, settings

    @property
    def has_spot(self) -> bool:
        """Whether any flavor is bought on spot."""
        return Market.SPOT.value in {output.market for output in self._job.cluster.made.outputs.flavors.values()}

    @property
    def has_on_demand(self) -> bool:
        """Whether any flavor is bought on demand."""
        return Market.ON_DEMAND.value in {output.market for output in self._job.cluster.made.outputs.flavors.values()}

    def affordable(self, count: int, short: Shortage, best: Fleet = NO_NODES) -> Fleet:
        """Returns the nodes that may begin to replace others now: the limits on cost and surge hold while both run.

        Args:
            count: How many are wanted.
            short: The shortage.
            best: A fleet whose flavors come first.
        """
        pools = self._pools(self._allowed(short))
        first = [pool for pool in pools if best.count(pool.flavor)]
        room = min(count, self._surge(short))
        fleet = chosen(first, room, self._room_usd_per_hour())
        return fleet if fleet.size == count else chosen(pools, room, self._room_usd_per_hour())

    def fitting(self, fleet: Fleet, short: Shortage) -> Fleet:
        """Returns as many nodes of a fleet as may begin now: the limits on cost and surge hold while both run."""
        prices, left_usd = self._job.cluster.costs.prices(), self._room_usd_per_hour()
        nodes: list[str] = []
        for flavor, count in fleet.present.items():
            usd = prices[flavor].usd_per_hour
            most = count if left_usd is None else min(count, int(left_usd / usd + 1e-9))
            left_usd = None if left_usd is None else left_usd - most * usd
            nodes += [flavor] * most
        return Fleet.counted(nodes[: self._surge(short)])

    def _surge(self, short: Shortage) -> int:
        """Returns how many more nodes may run beside those that run."""
        max_surge = self._job.environment.settings.limits.max_surge
        if max_surge is None:
            return sys.maxsize
        return max(0, short.wanted.size + max_surge - len(self._job.cluster.last_workers()))

    def _room_usd_per_hour(self) -> float | None:
        """Returns what more nodes may cost an hour beside those that run; None is no limit."""
        most, cluster = self._job.environment.settings.limits.max_usd_per_hour, self._job.cluster
        return None if most is None else max(0.0, most - cluster.costs.usd_per_hour(cluster.last_workers()))

    def available(self, count: int, short: Shortage) -> Fleet:
        """Returns the nodes that could be had, whatever they cost an hour while both run."""
        return chosen(self._pools(self._allowed(short)), count)

    def best(self, lasting: Fleet, count: int) -> Fleet:
        """Returns the nodes of the spot market to wait for: those that the groups ask EC2 for already come first."""
        asked = self._job.cluster.capacity.last.beyond(lasting)
        pools = self._pools({Market.SPOT}, whatever_failed=True)
        kept = chosen([replace(pool, room=min(pool.room, asked.count(pool.flavor))) for pool in pools], count)
        return kept if kept.size == count else chosen(pools, count, self._room_usd_per_hour())

    def _allowed(self, short: Shortage) -> set[Market]:
        """Returns the markets that may be bought on now."""
        waited_s = 0.0 if short.waiting_since is None else self._job.clock.now() - short.waiting_since
        is_due = short.waiting_since is not None and waited_s >= self._spot.wait_s
        return {Market.SPOT, Market.ON_DEMAND} if self._spot.on_demand_fallback and is_due else {Market.SPOT}

    def _pools(self, markets: set[Market], *, whatever_failed: bool = False) -> list[Pool]:
        job, now = self._job, self._job.clock.now()
        declared = job.cluster.made.outputs.flavors
        settings = decide_settings(job.environment, job.settings.policy, declared, 0.0)
        prices = with_losses(job.cluster.costs.prices(), job.journal.all_losses())
        unavailable = {} if whatever_failed else {f: until for f, (until, _) in job.journal.unavailable(now).items()}
        barred = unavailable_reasons(tuple(declared), job.environment.limits(), History(unavailable=unavailable), now)
        decision = job.journal.last_decision()
        estimates = {} if decision is None else {estimate.flavor: estimate for estimate in decision.flavors}
        found = []
        for flavor in declared:
            price = prices.get(flavor)
            is_sound = price is not None and price_fault(price, now, settings) is None
            is_fit = flavor not in barred and not _is_too_small(estimates.get(flavor))
            if price is not None and is_sound and is_fit and job.market(flavor) in markets:
                next_node = prices.get(floor_name(flavor)) if self._buys_on_demand(flavor) else None
                found.append(self._pool(flavor, next_node or price, estimates.get(flavor), settings))
        return found

    def _used(self, flavor: str) -> int:
        return sum(worker.flavor == flavor for worker in self._job.cluster.last_workers())

    def _buys_on_demand(self, flavor: str) -> bool:
        """Returns whether the next node of a flavor is one of those that its group buys on demand."""
        return self._used(flavor) < self._job.cluster.made.outputs.floors.get(flavor, 0)

    def _pool(self, flavor: str, price: Price, estimate: FlavorEstimate | None, settings: DecideSettings) -> Pool:
        """Returns a pool, judged by the last decision's estimate of its speed and by the price of its next node."""
        limits = replace(self._job.environment.limits(), max_nodes=None)  # that of the fleet that trains, which stays
        known = settings.flavors[flavor]
        usd = effective_usd_per_hour(price, settings) + known.surplus_usd_per_hour
        tokens_per_s = None if estimate is None else estimate.tokens_per_s
        return Pool(
            flavor,
            max(0, node_cap(flavor, limits, settings) - self._used(flavor)),
            price.usd_per_hour + known.surplus_usd_per_hour,
            usd / (tokens_per_s * 0.0036) if tokens_per_s else usd / (known.vcpus or 1),
            is_measured=bool(tokens_per_s),
            is_recent=flavor in recent(self._job.journal.noticed(), self._job.clock.now()),
        )


def _is_too_small(estimate: FlavorEstimate | None) -> bool:
    return estimate is not None and any(isinstance(note, MemoryTooSmall) for note in estimate.notes)
