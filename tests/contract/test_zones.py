"""Traffic between availability zones: the zones of localcloud's real instances, and what is paid for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.domain import Fact, Observation, TrainingState
from controller.edges.aws import Aws
from controller.observe.instances import running_fleet
from controller.observe.prices.zones import nodes_by_zone, traffic_usd_per_hour
from tests.support.local_cloud import LocalCloud, wait_until

NOW = 1_800_000_000.0
TAGS = {"centavo:cluster": "zones", "centavo:role": "worker", "centavo:flavor": "c5.large"}


def launch(cloud: LocalCloud, subnet: str) -> str:
    tags = [{"Key": key, "Value": value} for key, value in TAGS.items()]
    return cloud.run(
        InstanceType="c5.large",
        SubnetId=subnet,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )


def fact(instance_id: str, rank: int) -> Fact:
    training = TrainingState.TRAINING
    return Fact(instance_id, "c5.large", rank, 3, training, 9, 2.0, 1.0, 8.0, 9.0, 50, NOW, gradient_bytes=3 * 10**9)


def test_ranks_in_two_zones_pay_for_the_two_hops_between_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three ranks each hop carries 4 GB a step, which takes 2 s."""
    with LocalCloud(tmp_path) as cloud:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        cidr = cloud.subnet_cidr.replace(".1.0/", ".2.0/")
        other = cloud.ec2.create_subnet(VpcId=cloud.vpc, CidrBlock=cidr, AvailabilityZone="us-east-1b")["Subnet"]
        ids = [launch(cloud, subnet) for subnet in (cloud.subnet, other["SubnetId"], other["SubnetId"])]
        aws = Aws("us-east-1")
        wait_until(lambda: sum(one.is_running for one in aws.instances("zones")) == 3, "three nodes that run")
        workers = aws.instances("zones")
    assert nodes_by_zone(workers) == {"us-east-1a": 1, "us-east-1b": 2}
    seen = Observation(NOW, running_fleet(workers), tuple(fact(one, rank) for rank, one in enumerate(ids)))
    assert traffic_usd_per_hour(seen, workers, 0.02) == pytest.approx(2 * 4 * 0.02 * 3600 / 2)
