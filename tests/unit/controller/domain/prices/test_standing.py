"""What a cluster costs beside its instances."""

from __future__ import annotations

import pytest

from controller.domain import Price, head_price, on_demand_name
from controller.domain.prices.price import floor_name
from controller.domain.prices.standing import (
    VOLUME,
    Standing,
    extras_usd_per_hour,
    standing_costs,
    unpriced_extras,
    with_volumes,
)

PRICES = {
    name: Price(name, usd)
    for name, usd in {
        "t3.small": 0.02,
        "c5.large": 0.085,
        "nat-gateway": 0.045,
        "public-ipv4": 0.005,
        "gp3-gb-month": 0.073,
    }.items()
}
STANDING = Standing("t3.small", 30, 2, 3, {"c5.large": 100.0})


def test_nat_gateways_addresses_and_the_heads_volume_count_by_the_hour() -> None:
    costs = {cost.what: cost.usd_per_hour for cost in standing_costs(STANDING, PRICES)}
    assert costs == {
        "head, t3.small": 0.02,
        "volume of the head, 30 GB": pytest.approx(0.003),
        "NAT gateways: 2": 0.09,
        "public IPv4 addresses: 3": 0.015,
    }
    assert extras_usd_per_hour(STANDING, PRICES) == pytest.approx(0.108)


def test_the_volume_of_a_worker_is_a_part_of_its_flavors_price() -> None:
    prices = with_volumes(PRICES, STANDING.volume_gb)
    assert prices["c5.large"].usd_per_hour == pytest.approx(0.095)
    assert prices["t3.small"] == PRICES["t3.small"]


def test_a_head_of_a_flavors_type_does_not_pay_for_a_workers_volume() -> None:
    prices = with_volumes(PRICES, {"t3.small": 100.0}, heads=["t3.small"])
    head = head_price(prices, "t3.small")
    assert head is not None and head.usd_per_hour == 0.02
    assert prices["t3.small"].usd_per_hour == pytest.approx(0.03)


def test_a_spot_flavors_on_demand_nodes_have_a_price_of_their_own_with_the_volume() -> None:
    known = {**PRICES, on_demand_name("c5.large"): Price("c5.large", 0.2)}
    prices = with_volumes(known, STANDING.volume_gb, floors=["c5.large", "t2.medium"])
    assert prices[floor_name("c5.large")].usd_per_hour == pytest.approx(0.2 + prices["c5.large"].usd_per_hour - 0.085)
    assert prices[on_demand_name("c5.large")].usd_per_hour == 0.2, "a head of this type has no such volume"
    assert floor_name("t2.medium") not in prices
    no_volumes = {name: price for name, price in known.items() if name != VOLUME}
    assert with_volumes(no_volumes, {}, floors=["c5.large"])[floor_name("c5.large")].usd_per_hour == 0.2


def test_what_has_no_price_is_named_and_not_counted() -> None:
    bare = {name: price for name, price in PRICES.items() if name in ("t3.small", "c5.large")}
    assert unpriced_extras(STANDING, bare) == ("gp3-gb-month", "nat-gateway", "nat-gateway-gb", "public-ipv4")
    assert unpriced_extras(Standing("t3.small"), bare) == ()
    assert extras_usd_per_hour(STANDING, bare) == 0
    assert with_volumes(bare, STANDING.volume_gb) == bare
