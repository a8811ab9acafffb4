"""The bill that the controller makes from its looks, against what localcloud has metered of the same instances."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from controller.domain import Observation
from controller.domain.prices.bill import HEAD, VOLUMES
from controller.domain.prices.standing import VOLUME, Standing
from controller.edges.aws import Aws
from controller.observe.instances import running_fleet
from controller.observe.prices.listed import read_prices
from controller.observe.prices.metering import Unseen, metered
from controller.record.journal import Journal
from controller.record.journal.runs import start_run
from controller.record.report.bill import bill
from tests.support.local_cloud import LocalCloud

PRICES = {"c5.large": 9.0, "t2.medium": 4.5, "t3.micro": 1.8, VOLUME: 730.0}
"""High, so that a second of a node costs a quarter of a cent."""
CENT = 0.01
LOOK_S = 0.2


class Watcher:
    """The part of a controller that looks at a cluster and keeps what it costs."""

    def __init__(self, root: Path, prices: Path) -> None:
        self.aws = Aws("us-east-1")
        self.journal: Journal = start_run(
            root, environment="test", policy="p", initial=running_fleet(()), now=time.time()
        )
        listed = read_prices(prices)
        self.costs: Any = SimpleNamespace(
            standing=Standing(head="t3.micro", head_volume_gb=8.0, volume_gb={"c5.large": 8.0, "t2.medium": 8.0}),
            prices_of=lambda workers: {
                name: price if name in (VOLUME, "t3.micro") else self._with_volume(price, listed[VOLUME])
                for name, price in listed.items()
            },
            head_instance_usd_per_hour=lambda prices: PRICES["t3.micro"],
            surplus_usd_per_hour=lambda observation: 0.0,
        )

    @staticmethod
    def _with_volume(price: Any, volume: Any) -> Any:
        return type(price)(price.flavor, price.usd_per_hour + 8.0 * volume.usd_per_hour / 730.0)

    def look(self) -> bool:
        """Looks once. Returns whether there are workers."""
        instances = self.aws.instances("bill")
        workers = [i for i in instances if i.role == "worker"]
        head = next((i for i in instances if i.role == "head"), None)
        now, last_at = time.time(), self.journal.last_observed_at()
        before = Unseen(self.journal.info().started_at if last_at is None else last_at, is_first=last_at is None)
        seen = Observation(now, running_fleet(workers))
        paid = metered(self.costs, workers, head, seen, before)
        self.journal.add_observation(seen, paid.total_usd_per_hour, paid)
        return bool(workers)

    def watch(self, seconds: float) -> None:
        """Looks every now and then for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()
            time.sleep(LOOK_S)


def launch(cloud: LocalCloud, flavor: str, role: str) -> str:
    tags = {"centavo:cluster": "bill", "centavo:role": role, "centavo:flavor": flavor}
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    volume = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 8}}]
    return cloud.run(
        InstanceType=flavor,
        TagSpecifications=[{"ResourceType": "instance", "Tags": listed}],
        BlockDeviceMappings=volume,
    )


@pytest.mark.parametrize("first_look_s", [0.0, 3.0], ids=["looked at once", "first looked at later"])
def test_the_bill_is_what_localcloud_has_metered_to_the_cent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_look_s: float
) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text(yaml.safe_dump(PRICES))
    with LocalCloud(tmp_path, prices=str(prices), least_charged_s=0.0) as cloud:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        watcher = Watcher(tmp_path / "runs", prices)
        launch(cloud, "t3.micro", "head")
        slow = [launch(cloud, "t2.medium", "worker") for _ in range(2)]
        time.sleep(first_look_s)
        watcher.watch(3.0)
        fast = [launch(cloud, "c5.large", "worker") for _ in range(2)]
        watcher.watch(3.0)
        cloud.ec2.terminate_instances(InstanceIds=slow)
        watcher.watch(3.0)
        cloud.ec2.terminate_instances(InstanceIds=fast)
        while watcher.look():
            time.sleep(LOOK_S)
        metered_lines = {what: line["usd"] for what, line in cloud.control("bill")["lines"].items()}
        until = time.time()

    summaries = [summary for _, summary in watcher.journal.summaries()]
    lines = bill(summaries, watcher.journal.unseen_usd(), until)
    assert sum(lines.values()) == pytest.approx(watcher.journal.spent_usd(until))
    expected = {
        f"{name} (on-demand)": lines[line] for name, line in (("c5.large", "c5.large"), ("t2.medium", "t2.medium"))
    }
    expected["t3.micro (on-demand)"] = lines[f"{HEAD}t3.micro"]
    for what, usd in {**expected, "volumes": lines[VOLUMES]}.items():
        assert usd == pytest.approx(metered_lines[what], abs=CENT), what
    assert sum(metered_lines.values()) > 5 * CENT
