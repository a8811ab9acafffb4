"""The bill of a cloud, tick by tick: what runs is charged by the second, and for a minute at least."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localcloud.api.metering.meter import Meter
from localcloud.api.prices.spot_prices import SpotPrices
from localcloud.link.instance_dir import InstanceDir

PRICES = {
    "c5.large": 0.36,
    "t3.medium": 0.036,
    "nat-gateway": 0.045,
    "public-ipv4": 0.005,
    "gp3-gb-month": 0.073,
    "surplus-vcpu-hour": 0.05,
}


def instance(name: str, flavor: str = "c5.large", state: str = "running", **other: Any) -> Any:
    values = {"is_spot": False, "boot": 1, "public_ip": None, "gb": 0, **other}
    devices = {"/dev/xvda": SimpleNamespace(size=values["gb"])}
    moto = SimpleNamespace(public_ip=values["public_ip"], block_device_mapping=devices)
    return SimpleNamespace(
        id=name, flavor=flavor, state=state, is_spot=values["is_spot"], boot=values["boot"], instance=moto
    )


class Cloud:
    """Instances, gateways and addresses that a test makes, and the meter of them."""

    def __init__(self, tmp_path: Path) -> None:
        self.instances: list[Any] = []
        self.ec2 = SimpleNamespace(nat_gateways={}, addresses=[])
        self.spot = SpotPrices({"c5.large": 0.1}, ["us-east-1a"])
        self.meter = Meter(
            self.instances,  # type: ignore[arg-type]
            self.ec2,
            PRICES,
            self.spot,
            lambda name: InstanceDir.of(tmp_path, name),
        )
        self.now_s = 50.0

    def run(self, seconds: float, tick_s: float = 0.5) -> None:
        self.meter.tick(self.now_s)
        for _ in range(round(seconds / tick_s)):
            self.now_s += tick_s
            self.meter.tick(self.now_s)

    def usd(self, what: str) -> float:
        return float(self.meter.bill()["lines"].get(what, {"usd": 0.0})["usd"])


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud(tmp_path)


@pytest.mark.parametrize(("seconds", "usd"), [(10, 0.006), (60, 0.006), (100, 0.010), (3600, 0.36)])
def test_an_instance_costs_its_seconds_and_a_minute_at_least(cloud: Cloud, seconds: float, usd: float) -> None:
    cloud.instances.append(instance("i-1"))
    cloud.run(seconds)
    assert cloud.usd("c5.large (on-demand)") == pytest.approx(usd)


def test_only_what_runs_is_charged_and_each_start_anew(cloud: Cloud) -> None:
    cloud.instances.append(instance("i-1", state="pending"))
    cloud.run(100)
    assert cloud.meter.bill() == {"lines": {}, "usd": 0}
    cloud.instances[0].state = "running"
    cloud.run(10)
    cloud.instances[0].state = "stopped"
    cloud.run(100)
    cloud.instances[0].state, cloud.instances[0].boot = "running", 2
    cloud.run(100)
    assert cloud.usd("c5.large (on-demand)") == pytest.approx(0.006 + 0.010)


def test_a_spot_instance_costs_the_price_of_each_moment(cloud: Cloud) -> None:
    cloud.instances.append(instance("i-1", is_spot=True))
    cloud.run(3600)
    cloud.spot.set("c5.large", 0.2)
    cloud.run(3600)
    assert cloud.usd("c5.large (spot)") == pytest.approx(0.3, rel=0.001)


def test_volumes_gateways_and_addresses_are_charged_while_they_exist(cloud: Cloud) -> None:
    cloud.instances.append(instance("i-1", state="stopped", gb=20))
    cloud.instances.append(instance("i-2", gb=20, public_ip="198.51.100.1"))
    cloud.instances.append(instance("i-3", state="terminated", gb=20))
    cloud.ec2.nat_gateways.update(a=SimpleNamespace(state="available"), b=SimpleNamespace(state="deleted"))
    cloud.ec2.addresses += [SimpleNamespace(public_ip=f"198.51.100.{number}") for number in (1, 2)]
    cloud.run(3600)
    assert cloud.usd("volumes") == pytest.approx(40 * 0.073 / 730)
    assert cloud.usd("NAT gateways") == pytest.approx(0.045)
    assert cloud.usd("public IPv4 addresses") == pytest.approx(2 * 0.005)


def test_surplus_credits_are_charged_that_are_not_earned_back(cloud: Cloud, tmp_path: Path) -> None:
    cloud.instances.append(instance("i-1", "t3.medium"))
    account = InstanceDir.of(tmp_path, "i-1").credits
    account.parent.mkdir(parents=True)
    for surplus in (30.0, 90.0, 60.0):
        account.write_text(json.dumps({"balance": 0.0, "surplus": surplus}))
        cloud.run(10)
    assert cloud.usd("surplus CPU credits") == pytest.approx(0.05)
    cloud.instances[0].state = "terminated"
    account.unlink()
    cloud.run(10)
    assert cloud.meter.bill()["usd"] == pytest.approx(0.05 + 0.0006)
