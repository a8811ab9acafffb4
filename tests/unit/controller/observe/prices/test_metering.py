"""What a look finds to pay for: by line, and since when nobody has counted it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller.domain import Credits, Fact, Fleet, Instance, Observation, Price, TrainingState
from controller.domain.prices.bill import ADDRESSES, GATEWAYS, SURPLUS, TRAFFIC, VOLUMES, ZONES
from controller.domain.prices.price import floor_name
from controller.domain.prices.standing import ADDRESS, NAT_GATEWAY, NAT_GB, VOLUME
from controller.edges.terraform import FlavorOutput
from controller.observe.prices.metering import Unseen, metered
from tests.unit.controller.observe.prices.test_costs import Desk
from tests.unit.controller.observe.test_reaching import OUTPUTS

NOW = 10_000.0
USD = {"c5.large": 0.5, "t3.medium": 0.0416, "t3.small": 0.125, NAT_GATEWAY: 0.0625, ADDRESS: 0.03125, VOLUME: 73.0}
PRICES = {name: Price(name, usd) for name, usd in USD.items()}
VOLUME_USD = 0.1
"""Of a GB an hour."""
FLAVORS = {
    name: FlavorOutput(f"group-{name}", "on-demand", 6, 2, 1 << 32, volume_gb=1.0) for name in ("c5.large", "t3.medium")
}
HEAD = Instance("i-head", "t3.small", "head", "running", launched_at=NOW - 3600)
SEEN_BEFORE = Unseen(NOW - 60, is_first=False)


def worker(name: str, flavor: str = "c5.large", state: str = "running", launched_at: float = NOW - 600) -> Instance:
    return Instance(name, flavor, "worker", state, "10.0.0.1", launched_at=launched_at)


def desk(root: Path) -> Desk:
    outputs = replace(
        OUTPUTS,
        nat_gateways=1,
        public_addresses=2,
        flavors=FLAVORS,
        head=replace(OUTPUTS.head, volume_gb=2.0),
    )
    prices = {**PRICES, "c5.large": Price("c5.large", 0.5 + VOLUME_USD), "t3.medium": Price("t3.medium", 0.0416 + 0.1)}
    return Desk(root, prices, outputs)


def fact(name: str, flavor: str, state: TrainingState = TrainingState.TRAINING) -> Fact:
    return Fact(name, flavor, 0, 1, state, 100, 0.5, 0.4, 8.0, 100.0, 50, NOW)


def test_each_line_has_its_own_price_and_a_node_that_boots_costs_its_volume(tmp_path: Path) -> None:
    workers = [worker("i-1"), worker("i-2"), worker("i-3", state="pending")]
    paid = metered(desk(tmp_path).costs, workers, HEAD, Observation(NOW, Fleet({"c5.large": 2})), SEEN_BEFORE)
    assert paid.usd_per_hour == pytest.approx(
        {
            "head, t3.small": 0.125,
            "c5.large": 2 * 0.5,
            VOLUMES: (2.0 + 3.0) * VOLUME_USD,
            GATEWAYS: 0.0625,
            ADDRESSES: 2 * 0.03125,
        }
    )
    assert paid.total_usd_per_hour == pytest.approx(sum(paid.usd_per_hour.values()))
    assert paid.unseen_usd == {}


def test_what_was_launched_after_the_last_look_is_paid_since_its_launch(tmp_path: Path) -> None:
    workers = [worker("i-1"), worker("i-2", launched_at=NOW - 36)]
    paid = metered(desk(tmp_path).costs, workers, HEAD, Observation(NOW, Fleet({})), SEEN_BEFORE)
    assert paid.unseen_usd == pytest.approx({"c5.large": 0.005, VOLUMES: 0.001})


@pytest.mark.parametrize(
    ("launched_at", "is_first", "hours"),
    [
        (None, True, 0.0),
        (NOW - 7200, False, 0.0),
        (NOW - 7200, True, 1.0),
        (NOW - 3600, False, 0.0),
        (NOW - 3599, False, 3599 / 3600),
        (NOW + 5, False, 0.0),
    ],
)
def test_time_that_nobody_has_counted_begins_with_the_launch_or_the_last_look(
    launched_at: float | None, is_first: bool, hours: float
) -> None:
    unseen = Unseen(NOW - 3600, is_first)
    assert unseen.hours(replace(HEAD, launched_at=launched_at), NOW) == hours
    assert unseen.hours(None, NOW) == 0.0


def test_a_look_long_after_the_one_before_has_counted_all_that_ran_then(tmp_path: Path) -> None:
    unseen = Unseen(HEAD.launched_at or 0.0, is_first=False)
    assert metered(desk(tmp_path).costs, [], HEAD, Observation(NOW, Fleet({})), unseen).unseen_usd == {}


def test_the_time_of_the_head_and_of_workers_on_volumes_adds_up(tmp_path: Path) -> None:
    first = Unseen(NOW - 360, is_first=True)
    paid = metered(desk(tmp_path).costs, [worker("i-1"), worker("i-2")], HEAD, Observation(NOW, Fleet({})), first)
    assert paid.unseen_usd[VOLUMES] == pytest.approx((2.0 + 1.0 + 1.0) * VOLUME_USD * 0.1)


def test_each_gb_that_has_passed_a_nat_gateway_is_paid_and_no_hour(tmp_path: Path) -> None:
    known = desk(tmp_path)
    known.prices[NAT_GB] = Price(NAT_GB, 0.045)
    seen = Observation(NOW, Fleet({}))
    paid = metered(known.costs, [], HEAD, seen, SEEN_BEFORE, nat_bytes=2.5e9)
    assert paid.so_far_usd == {TRAFFIC: pytest.approx(0.1125)}
    assert TRAFFIC not in {**paid.usd_per_hour, **paid.unseen_usd}
    assert metered(known.costs, [], HEAD, seen, SEEN_BEFORE).so_far_usd == {}
    del known.prices[NAT_GB]
    assert metered(known.costs, [], HEAD, seen, SEEN_BEFORE, nat_bytes=2.5e9).so_far_usd == {}


def test_what_has_no_price_of_its_own_costs_nothing(tmp_path: Path) -> None:
    known = desk(tmp_path)
    for name in (VOLUME, NAT_GATEWAY, ADDRESS):
        del known.prices[name]
    paid = metered(known.costs, [worker("i-1")], HEAD, Observation(NOW, Fleet({})), Unseen(NOW - 360, is_first=True))
    assert paid.usd_per_hour == pytest.approx({"head, t3.small": 0.125, "c5.large": 0.5 + VOLUME_USD})


def test_a_node_of_a_flavor_that_terraform_has_no_more_has_no_volume_to_take_off(tmp_path: Path) -> None:
    known = desk(tmp_path)
    known.prices["m5.large"] = Price("m5.large", 0.25)
    paid = metered(known.costs, [worker("i-1", "m5.large")], HEAD, Observation(NOW, Fleet({})), SEEN_BEFORE)
    assert paid.usd_per_hour["m5.large"] == 0.25
    assert paid.usd_per_hour[VOLUMES] == pytest.approx(2.0 * VOLUME_USD), "the head's"


def test_the_first_look_counts_what_runs_since_the_run_began_and_no_earlier(tmp_path: Path) -> None:
    first = Unseen(NOW - 360, is_first=True)
    workers = [worker("i-1", launched_at=NOW - 7200), worker("i-2", launched_at=NOW - 36)]
    paid = metered(desk(tmp_path).costs, workers, HEAD, Observation(NOW, Fleet({})), first)
    assert paid.unseen_usd["c5.large"] == pytest.approx(0.05 + 0.005)
    assert paid.unseen_usd["head, t3.small"] == pytest.approx(0.0125)
    assert paid.unseen_usd[GATEWAYS] == pytest.approx(0.00625)


@pytest.mark.parametrize(
    ("state", "credits", "nodes"),
    [
        (TrainingState.TRAINING, {}, 2),
        (TrainingState.STARTING, {}, 0),
        (TrainingState.TRAINING, {"i-1": Credits(5.0, 0.0, NOW)}, 1),
        (TrainingState.TRAINING, {"i-1": Credits(0.0, 5.0, NOW)}, 2),
    ],
)
def test_nodes_that_train_without_credits_of_their_own_pay_for_surplus(
    tmp_path: Path, state: TrainingState, credits: dict[str, Credits], nodes: int
) -> None:
    facts = (fact("i-1", "t3.medium", state), fact("i-2", "t3.medium", state), fact("i-3", "c5.large", state))
    seen = Observation(NOW, Fleet({"t3.medium": 2, "c5.large": 1}), facts, credits=credits)
    paid = metered(desk(tmp_path).costs, [], HEAD, seen, SEEN_BEFORE)
    assert paid.usd_per_hour.get(SURPLUS, 0.0) == pytest.approx(nodes * 0.05 * 2 * 0.8)


def test_a_flavor_in_standard_mode_pays_for_no_surplus(tmp_path: Path) -> None:
    made = replace(FLAVORS["t3.medium"], cpu_credits="standard")
    known = Desk(tmp_path, PRICES, replace(OUTPUTS, flavors={"t3.medium": made}))
    seen = Observation(NOW, Fleet({"t3.medium": 1}), (fact("i-1", "t3.medium"),))
    assert SURPLUS not in metered(known.costs, [], HEAD, seen, SEEN_BEFORE).usd_per_hour


def test_nodes_of_a_spot_flavor_are_paid_as_each_was_bought(tmp_path: Path) -> None:
    known = desk(tmp_path)
    known.prices[floor_name("c5.large")] = Price("c5.large", 2.0 + VOLUME_USD)
    workers = [worker("i-1"), replace(worker("i-2"), is_on_spot=True)]
    paid = metered(known.costs, workers, HEAD, Observation(NOW, Fleet({"c5.large": 2})), SEEN_BEFORE)
    assert paid.usd_per_hour["c5.large"] == pytest.approx(2.0 + 0.5)
    assert paid.usd_per_hour[VOLUMES] == pytest.approx((2.0 + 2.0) * VOLUME_USD)


def test_gradients_that_cross_zones_are_a_line_of_the_bill(tmp_path: Path) -> None:
    """A gigabyte each way, twice a second, for 2 cents."""
    workers = [replace(worker(f"i-{zone}"), zone=zone) for zone in "ab"]
    ranks = tuple(
        replace(fact(f"i-{zone}", "c5.large"), rank=rank, world_size=2, gradient_bytes=10**9)
        for rank, zone in enumerate("ab")
    )
    seen = Observation(NOW, Fleet({"c5.large": 2}), ranks)
    costs = desk(tmp_path).costs
    assert metered(costs, workers, HEAD, seen, SEEN_BEFORE).usd_per_hour[ZONES] == pytest.approx(2 * 2 * 3600 * 0.02)
    together = [replace(one, zone="a") for one in workers]
    assert ZONES not in metered(costs, together, HEAD, seen, SEEN_BEFORE).usd_per_hour
