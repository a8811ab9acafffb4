"""What the cluster is paid for at a look, line by line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controller.domain import SECONDS_PER_HOUR, Instance, Observation, Price
from controller.domain.prices.bill import ADDRESSES, GATEWAYS, HEAD, SURPLUS, TRAFFIC, VOLUMES, ZONES, Metered
from controller.domain.prices.standing import ADDRESS, HOURS_PER_MONTH, NAT_GATEWAY, NAT_GB, VOLUME, Standing
from controller.domain.prices.traffic import BYTES_PER_GB
from controller.observe.prices.costs import Costs, node_usd_per_hour
from controller.observe.prices.zones import traffic_usd_per_hour, usd_per_zones_gb


@dataclass(frozen=True)
class Unseen:
    """The time before a look in which nobody counted what is paid.

    Attributes:
        since: When it was last looked; before the first look, when the run began.
        is_first: Whether this is the first look of the run, so that all that runs was counted by nobody.
    """

    since: float
    is_first: bool

    def hours(self, instance: Instance | None, now: float) -> float:
        """Returns for how many hours an instance has run that no look has counted."""
        if instance is None or instance.launched_at is None:
            return 0.0
        if not self.is_first and instance.launched_at <= self.since:
            return 0.0
        return max(0.0, now - max(instance.launched_at, self.since)) / SECONDS_PER_HOUR


def metered(
    costs: Costs,
    workers: Collection[Instance],
    head: Instance | None,
    observation: Observation,
    before: Unseen,
    nat_bytes: float = 0.0,
) -> Metered:
    """Returns what there is to pay for.

    EC2 charges an instance while it runs, and its volume as soon as it is launched.

    Args:
        costs: The costs of the cluster.
        workers: Those that are pending or running.
        head: The head as EC2 lists it; None where it lists none.
        observation: The present look.
        before: The time that nobody has counted yet.
        nat_bytes: How many bytes have passed the NAT gateways since the run began.

    Raises:
        ConfigError: An instance type has no price.
    """
    standing, prices = costs.standing, costs.prices_of(workers)
    volume = _usd(prices, VOLUME) / HOURS_PER_MONTH
    beside = _beside(standing, prices, volume, costs.head_instance_usd_per_hour(prices))
    head_hours = before.hours(head, observation.at)
    rates = defaultdict(float, beside)
    unseen = defaultdict(float, {line: usd * head_hours for line, usd in beside.items()})
    for worker in workers:
        hours = before.hours(worker, observation.at)
        of_volume = standing.volume_gb.get(worker.flavor, 0.0) * volume
        own = {VOLUMES: of_volume}
        if worker.state == "running":
            own[worker.flavor] = node_usd_per_hour(worker, prices) - of_volume
        for line, usd in own.items():
            rates[line] += usd
            unseen[line] += usd * hours
    rates[SURPLUS] = costs.surplus_usd_per_hour(observation)
    rates[ZONES] = traffic_usd_per_hour(observation, workers, usd_per_zones_gb(prices))
    passed = {TRAFFIC: nat_bytes / BYTES_PER_GB * _usd(prices, NAT_GB)}
    return Metered(_without_zeros(rates), _without_zeros(unseen), _without_zeros(passed))


def _beside(
    standing: Standing, prices: Mapping[str, Price], volume: float, head_usd_per_hour: float
) -> dict[str, float]:
    """Returns what runs beside the workers, US dollars an hour."""
    return {
        f"{HEAD}{standing.head}": head_usd_per_hour,
        VOLUMES: standing.head_volume_gb * volume,
        GATEWAYS: standing.nat_gateways * _usd(prices, NAT_GATEWAY),
        ADDRESSES: standing.addresses * _usd(prices, ADDRESS),
    }


def _usd(prices: Mapping[str, Price], name: str) -> float:
    """Returns the US dollars of one of `EXTRAS`; 0 where it has no price."""
    return prices[name].usd_per_hour if name in prices else 0.0


def _without_zeros(lines: Mapping[str, float]) -> dict[str, float]:
    return {line: usd for line, usd in lines.items() if usd}
