"""What a cluster costs beside its instances: the volumes of its nodes, and what runs whatever the fleet is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from controller.domain.prices.price import Price, floor_name, head_price, on_demand_name

NAT_GATEWAY, NAT_GB, ADDRESS, VOLUME = "nat-gateway", "nat-gateway-gb", "public-ipv4", "gp3-gb-month"
EXTRAS = (NAT_GATEWAY, NAT_GB, ADDRESS, VOLUME)
"""The names under which prices of other things than instances are kept. No instance type has such a name.

US dollars an hour of a NAT gateway and of a public address, for each GB through a NAT gateway, and for each GB of a gp3
volume a month.
"""
HOURS_PER_MONTH = 730.0
"""AWS's price list gives prices of volumes by the month, and AWS's calculators take a month for so many hours."""


@dataclass(frozen=True)
class Standing:
    """What is there of a cluster beside its workers, and how large the workers' volumes are.

    Attributes:
        head: The head's instance type; None where there is no head.
        volume_gb: By flavor the size of a node's volume.
    """

    head: str | None = None
    head_volume_gb: float = 0.0
    nat_gateways: int = 0
    addresses: int = 0
    volume_gb: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StandingCost:
    """One thing that costs the same whatever the fleet is; `usd_per_hour` is None where it has no price."""

    what: str
    usd_per_hour: float | None


def standing_costs(standing: Standing, prices: Mapping[str, Price]) -> tuple[StandingCost, ...]:
    """Returns what costs the same whatever the fleet is: head, its volume, NAT gateways and public addresses."""
    costs = []
    if standing.head is not None:
        price = head_price(prices, standing.head)
        costs.append(StandingCost(f"head, {standing.head}", price.usd_per_hour if price is not None else None))
    gb_hours = standing.head_volume_gb / HOURS_PER_MONTH
    for number, what, name in (
        (gb_hours, f"volume of the head, {standing.head_volume_gb:g} GB", VOLUME),
        (standing.nat_gateways, f"NAT gateways: {standing.nat_gateways}", NAT_GATEWAY),
        (standing.addresses, f"public IPv4 addresses: {standing.addresses}", ADDRESS),
    ):
        if number:
            costs.append(StandingCost(what, number * prices[name].usd_per_hour if name in prices else None))
    return tuple(costs)


def extras_usd_per_hour(standing: Standing, prices: Mapping[str, Price]) -> float:
    """Returns US dollars an hour of what runs beside the instances. What has no price is not counted."""
    instances_only = replace(standing, head=None)
    return sum(cost.usd_per_hour or 0.0 for cost in standing_costs(instances_only, prices))


def with_volumes(
    prices: Mapping[str, Price],
    volume_gb: Mapping[str, float],
    heads: Collection[str] = (),
    floors: Collection[str] = (),
) -> dict[str, Price]:
    """Returns the prices with each flavor's volume in the price of its nodes.

    Args:
        prices: The prices of instance types and of `EXTRAS`.
        volume_gb: By flavor the size of a node's volume.
        heads: The instance types of heads. Where one is a flavor too, the head keeps a price without the node's volume.
        floors: The spot flavors some of whose nodes are bought on demand. Those nodes get a price of their own.
    """
    usd_per_gb_hour = prices[VOLUME].usd_per_hour / HOURS_PER_MONTH if VOLUME in prices else 0.0
    result = dict(prices)
    for flavor in floors:
        on_demand = prices.get(on_demand_name(flavor))
        if on_demand is not None:
            result[floor_name(flavor)] = _plus(on_demand, volume_gb.get(flavor, 0.0) * usd_per_gb_hour)
    for flavor, gb in volume_gb.items():
        if flavor in prices and gb * usd_per_gb_hour:
            if flavor in heads:
                result.setdefault(on_demand_name(flavor), prices[flavor])
            result[flavor] = _plus(prices[flavor], gb * usd_per_gb_hour)
    return result


def _plus(price: Price, usd_per_hour: float) -> Price:
    return replace(price, usd_per_hour=price.usd_per_hour + usd_per_hour)


def unpriced_extras(standing: Standing, prices: Mapping[str, Price]) -> tuple[str, ...]:
    """Returns the names of the prices that are missing, so that a part of the costs is not counted."""
    has_volumes = standing.head_volume_gb or any(standing.volume_gb.values())
    gateways = standing.nat_gateways
    needed = {VOLUME: has_volumes, NAT_GATEWAY: gateways, NAT_GB: gateways, ADDRESS: standing.addresses}
    return tuple(name for name, is_needed in needed.items() if is_needed and name not in prices)
