"""What reaches `decide` of the settings and of what Terraform says."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from controller.commands.context import Context
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.decide import DecisionInput
from controller.domain import (
    Decision,
    EarlierSpeed,
    Fact,
    Fleet,
    History,
    Observation,
    Price,
    Progress,
    TrainingState,
    Verdict,
)
from controller.domain.prices.price import floor_name, floors_usd_per_hour
from controller.domain.reasons.flavors import PriceStale
from controller.domain.reasons.limits import TooExpensiveAnHour
from controller.edges.clock import SystemClock
from controller.edges.terraform import FlavorOutput, HeadOutput, Outputs
from controller.loop.decide_settings import with_new_floors
from controller.record.live.reporter import PlainReporter
from tests.unit.controller.harness import PRICES, SETTINGS, SPEEDS

NOW = 1_800_000_000.0


@dataclass
class UpCluster:
    """A cluster whose Terraform has declared so many nodes of each flavor."""

    max_nodes: dict[str, int] = field(default_factory=dict)
    head_usd_per_hour: float = 0.0
    floors: dict[str, int] = field(default_factory=dict)
    listed: dict[str, Price] = field(default_factory=dict)

    def prices(self) -> dict[str, Price]:
        return self.listed

    def floors_usd_per_hour(self, fleet: Fleet) -> float:
        return floors_usd_per_hour(fleet, self.floors, self.listed)

    @property
    def made(self) -> UpCluster:
        return self

    @property
    def costs(self) -> UpCluster:
        return self

    @property
    def outputs(self) -> Outputs:
        flavors = {
            flavor: FlavorOutput(f"group-{flavor}", "on-demand", self.max_nodes.get(flavor, 12), 2, 4 << 30)
            for flavor in SPEEDS
        }
        flavors |= {
            f: replace(flavors[f], market="spot", on_demand_base=base) for f, base in self.floors.items() if base
        }
        return Outputs("c", "us-east-1", "b", HeadOutput("i-head", "10.0.0.1", None, "t3.small"), flavors)


def observation(*flavors: str) -> Observation:
    """Nodes of these flavors train, each as fast as its flavor is."""
    facts = tuple(
        Fact(f"i-{n}", flavor, n, 3, TrainingState.TRAINING, 100, 0.4, 0.3, 16.0, 0.3 * SPEEDS[flavor], 50, NOW)
        for n, flavor in enumerate(flavors)
    )
    return Observation(NOW, Fleet({flavor: flavors.count(flavor) for flavor in flavors}), facts)


def decided(
    tmp_path: Path,
    limits: dict[str, Any],
    max_nodes: dict[str, int] | None = None,
    prices: dict[str, Price] | None = None,
    price_settings: dict[str, Any] | None = None,
    seen: Observation | None = None,
    history: History | None = None,
    floors: dict[str, int] | None = None,
) -> Decision:
    """What is decided for the first facts of a long training, with these limits and prices in centavo.yml."""
    settings = copy.deepcopy(SETTINGS) | {"prices": price_settings or {}}
    settings["limits"] |= limits
    environment = Environment("test", tmp_path, parse_settings(settings, tmp_path / "centavo.yml"))
    prices = prices or {flavor: Price(flavor, usd) for flavor, usd in PRICES.items()}
    context = Context(environment, SystemClock(), PlainReporter())
    cluster = UpCluster(max_nodes or {}, floors=floors or {}, listed=prices)
    decide = context.decider(cluster, "cheapest-fleet")  # type: ignore[arg-type]
    progress = Progress(100, 100_000, 60_000, NOW - 60, NOW)
    observations = (seen or observation(*SPEEDS),)
    return decide(DecisionInput(observations, prices, environment.limits(), progress, history or History()))


@pytest.mark.parametrize(
    ("limits", "max_nodes", "most"),
    [
        ({}, {}, 3),
        ({"max_nodes_per_flavor": {"c5.large": 2}}, {}, 2),
        ({"max_vcpus_per_flavor": {"c5.large": 5}}, {}, 2),
        ({}, {"c5.large": 2}, 2),
        ({"max_nodes_per_flavor": {"c5.large": 2}}, {"c5.large": 1}, 1),
    ],
)
def test_no_more_nodes_of_the_cheapest_flavor_are_asked_for_than_quota_and_terraform_allow(
    tmp_path: Path, limits: dict[str, Any], max_nodes: dict[str, int], most: int
) -> None:
    decision = decided(tmp_path, limits, max_nodes)
    if most > 1:
        assert decision.verdict is Verdict.MOVE
    assert decision.target.count("c5.large") == most


@pytest.mark.parametrize(("source", "is_used"), [("aws", False), ("file", True)])
def test_prices_of_aws_that_are_too_old_are_not_decided_on(tmp_path: Path, source: str, is_used: bool) -> None:
    """A price in a file is as old as a person lets it be. Only c5.xlarge runs, and keeps the price that it has."""
    prices = {flavor: Price(flavor, usd, "test", NOW) for flavor, usd in PRICES.items()}
    old = {f: replace(price, fetched_at=NOW - 7201) for f, price in prices.items() if f != "t2.medium"}
    known = {"c5.large": EarlierSpeed(SPEEDS["c5.large"])}
    decision = decided(
        tmp_path,
        {},
        prices=prices | old,
        price_settings={"source": source, "max_age_s": 7200},
        seen=observation("c5.xlarge", "c5.xlarge", "c5.xlarge"),
        history=History(earlier_speeds=known),
    )
    stale = {flavor.flavor: [n.age_s for n in flavor.notes if isinstance(n, PriceStale)] for flavor in decision.flavors}
    assert stale["c5.large"] == ([] if is_used else [pytest.approx(7201)])
    assert stale["c5.xlarge"] == stale["t2.medium"] == []
    assert (decision.target.count("c5.large") > 0) is is_used


def test_an_excluded_flavor_is_left(tmp_path: Path) -> None:
    assert decided(tmp_path, {"exclude": ["c5.large"]}).target.count("c5.large") == 0


@pytest.mark.parametrize(("floor", "most", "is_refused"), [(0, 2.0, False), (2, 2.0, True), (2, None, False)])
def test_a_move_whose_on_demand_nodes_break_the_hourly_limit_is_refused(
    tmp_path: Path, floor: int, most: float | None, is_refused: bool
) -> None:
    """Its mean price may hide them: a fleet with fewer nodes than now has a larger share of them."""
    prices = {flavor: Price(flavor, usd) for flavor, usd in PRICES.items()}
    decision = decided(tmp_path, {"max_usd_per_hour": 2.0}, prices=prices)
    assert decision.verdict is Verdict.MOVE and decision.target.count("c5.large") > 1
    prices[floor_name("c5.large")] = Price("c5.large", 1.2)
    costs: Any = UpCluster(floors={"c5.large": floor}, listed=prices)
    checked = with_new_floors(decision, most, costs)
    if not is_refused:
        assert checked == decision
        return
    assert checked.verdict is Verdict.REFUSE and checked.target == decision.current
    assert isinstance(checked.reason, TooExpensiveAnHour) and checked.reason.usd_per_hour > 2


@pytest.mark.parametrize(("base", "is_cheapest"), [(0, True), (1, True), (3, False)])
def test_a_spot_flavor_is_as_dear_as_its_nodes_are_on_the_whole(tmp_path: Path, base: int, is_cheapest: bool) -> None:
    """Three nodes run. On spot c5.large is the cheapest by far, on demand it is the dearest."""
    prices = {flavor: Price(flavor, usd) for flavor, usd in PRICES.items()}
    prices[floor_name("c5.large")] = Price("c5.large", 1.9 * PRICES["c5.large"])
    for present in (("c5.xlarge",) * 3, ("c5.large",) * 3):
        history = History(earlier_speeds={flavor: EarlierSpeed(speed) for flavor, speed in SPEEDS.items()})
        one = decided(
            tmp_path, {"max_nodes": 3, "min_nodes": 3}, prices=prices, floors={"c5.large": base},
            seen=observation(*present), history=history,
        )  # fmt: skip
        assert (one.target.count("c5.large") > 0) is is_cheapest, (present, one.target)


def test_the_on_demand_nodes_of_a_spot_flavor_are_in_the_cost_of_the_present_fleet(tmp_path: Path) -> None:
    prices = {flavor: Price(flavor, usd) for flavor, usd in PRICES.items()}
    prices[floor_name("c5.large")] = Price("c5.large", PRICES["c5.large"] + 1.0)
    costs = []
    for floor in (0, 2):
        decision = decided(tmp_path, {}, prices=prices, floors={"c5.large": floor})
        (present,) = [one for one in decision.fleets if one.fleet == decision.current]
        costs.append(present.usd_per_hour)
    assert costs[0] and costs[1] == pytest.approx(costs[0] + 1.0), "one node of it runs"
