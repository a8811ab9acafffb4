"""What the cluster costs an hour, and which prices it needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller.domain import Fleet, Instance, Market, Price
from controller.domain.errors import ConfigError
from controller.domain.prices.price import floor_name
from controller.domain.prices.standing import ADDRESS, EXTRAS, NAT_GATEWAY
from controller.edges.terraform import Outputs
from controller.observe.made import Made
from controller.observe.prices.asked import Wanted
from controller.observe.prices.book import wanted_by
from controller.observe.prices.costs import Costs
from tests.unit.controller.observe.prices.test_book import Office
from tests.unit.controller.observe.test_instances import Terraform
from tests.unit.controller.observe.test_reaching import OUTPUTS

WORKERS = [Instance(f"i-{n}", flavor, "worker", "running") for n, flavor in enumerate(["c5.large", "c5.large", "a"])]
PRICES = {name: Price(name, usd) for name, usd in {"c5.large": 0.5, "a": 0.25, "t3.small": 0.125}.items()}


class Desk:
    def __init__(self, root: Path, prices: dict[str, Price], outputs: Outputs = OUTPUTS) -> None:
        self.asked: list[Outputs | None] = []
        self.prices = prices
        self.made = Made(Terraform(outputs), "test")

        def load(outputs: Outputs | None) -> dict[str, Price]:
            self.asked.append(outputs)
            return prices

        self.costs = Costs(Office(root).environment, self.made, load)


def test_the_head_and_every_worker_are_paid(tmp_path: Path) -> None:
    costs = Desk(tmp_path, PRICES).costs
    assert costs.usd_per_hour(WORKERS) == 0.125 + 2 * 0.5 + 0.25
    assert costs.usd_per_hour([]) == costs.head_usd_per_hour == 0.125


def test_what_runs_beside_the_head_is_paid_with_it(tmp_path: Path) -> None:
    extras = {NAT_GATEWAY: Price(NAT_GATEWAY, 0.0625), ADDRESS: Price(ADDRESS, 0.03125)}
    outputs = replace(OUTPUTS, nat_gateways=1, public_addresses=2)
    costs = Desk(tmp_path, {**PRICES, **extras}, outputs).costs
    assert costs.head_usd_per_hour == 0.125 + 0.0625 + 2 * 0.03125
    assert costs.usd_per_hour(WORKERS) == costs.head_usd_per_hour + 2 * 0.5 + 0.25


def test_a_node_costs_what_its_market_asks_whatever_the_others_of_its_group_cost(tmp_path: Path) -> None:
    prices = {**PRICES, floor_name("c5.large"): Price("c5.large", 2.0)}
    made = OUTPUTS.flavors["c5.large"]
    outputs = replace(OUTPUTS, flavors={**OUTPUTS.flavors, "c5.large": replace(made, market="spot", on_demand_base=1)})
    costs = Desk(tmp_path, prices, outputs).costs
    on_demand, on_spot = WORKERS[0], replace(WORKERS[1], is_on_spot=True)
    assert costs.usd_per_hour([on_demand, on_spot]) == 0.125 + 2.0 + 0.5
    assert costs.usd_per_hour([on_spot, on_spot]) == 0.125 + 2 * 0.5
    assert costs.usd_per_hour([on_demand, on_demand, WORKERS[2]]) == 0.125 + 2 * 2.0 + 0.25
    assert costs.floors_usd_per_hour(Fleet({"c5.large": 3, "a": 1})) == 1.5
    assert costs.floors_usd_per_hour(Fleet({"a": 1})) == 0
    assert Desk(tmp_path / "unknown", PRICES, outputs).costs.usd_per_hour([on_demand]) == 0.625, (
        "its on-demand price is unknown"
    )
    assert wanted_by(outputs).floors == {"c5.large"}


@pytest.mark.parametrize("missing", ["a", "t3.small"])
def test_a_price_that_is_missing_is_named_with_where_to_add_it(tmp_path: Path, missing: str) -> None:
    desk = Desk(tmp_path, {name: price for name, price in PRICES.items() if name != missing})
    with pytest.raises(ConfigError, match=f"has no price for {missing}") as error:
        desk.costs.usd_per_hour(WORKERS)
    assert "prices.yml" in error.value.what and f"`{missing}: 0.0464`" in error.value.next_step


def test_prices_are_asked_for_what_terraform_is_known_to_have_made(tmp_path: Path) -> None:
    desk = Desk(tmp_path, PRICES)
    assert desk.costs.prices() == PRICES
    _ = desk.made.outputs
    desk.costs.prices()
    assert desk.asked == [None, OUTPUTS]


def test_prices_are_needed_of_each_flavor_and_of_the_head() -> None:
    assert wanted_by(None) == Wanted()
    assert wanted_by(OUTPUTS) == Wanted(
        {"c5.large": Market.ON_DEMAND, "t2.medium": Market.ON_DEMAND},
        {"c5.large": "group", "t2.medium": "group"},
        frozenset({"t3.small"}),
        frozenset(EXTRAS),
        {"c5.large": 0.0, "t2.medium": 0.0},
    )
