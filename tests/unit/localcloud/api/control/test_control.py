"""The control API of a running cloud, and the spot interruptions that it makes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from datetime import datetime, timezone
from typing import Any

import pytest

from tests.support.local_cloud import LocalCloud, wait_until


def metadata(cloud: LocalCloud, address: str, path: str) -> str | None:
    """Returns what the metadata service answers; None if it answers "not found"."""
    base = f"http://{address}:{cloud.config['metadata_port']}/latest"
    ask = urllib.request.Request(
        f"{base}/api/token", method="PUT", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    )
    with urllib.request.urlopen(ask, timeout=60) as answer:
        token = answer.read().decode()
    request = urllib.request.Request(f"{base}/{path}", headers={"X-aws-ec2-metadata-token": token})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        assert error.code == 404
        return None


def test_an_interruption_is_announced_in_the_metadata_and_then_carried_out(cloud: LocalCloud) -> None:
    instance_id = cloud.run(InstanceMarketOptions={"MarketType": "spot"})
    address = cloud.ready(instance_id)
    assert metadata(cloud, address, "meta-data/spot/instance-action") is None
    answer = cloud.control("interrupt", {"instance_id": instance_id, "in_s": 3600})
    notice = wait_until(lambda: metadata(cloud, address, "meta-data/spot/instance-action"), "the notice")
    assert json.loads(notice) == {"action": "terminate", "time": answer["time"]}
    assert metadata(cloud, address, "meta-data/spot/termination-time") == answer["time"]
    assert cloud.state(instance_id) == "running"
    sooner = cloud.control("interrupt", {"instance_id": instance_id, "in_s": 2})
    wait_until(lambda: cloud.state(instance_id) == "terminated", "the interruption")
    assert datetime.now(timezone.utc) >= datetime.fromisoformat(sooner["time"].replace("Z", "+00:00"))
    assert cloud.describe(instance_id)["StateReason"]["Code"] == "Server.SpotInstanceTermination"


def test_an_interruption_comes_after_the_configured_notice_when_no_time_is_given(cloud: LocalCloud) -> None:
    instance_id = cloud.run(InstanceMarketOptions={"MarketType": "spot"})
    cloud.ready(instance_id)
    cloud.control("interrupt", {"instance_id": instance_id})
    wait_until(lambda: cloud.state(instance_id) == "terminated", "the interruption")


def test_a_replacement_is_recommended_in_the_metadata_and_the_instance_goes_on(cloud: LocalCloud) -> None:
    instance_id = cloud.run(InstanceMarketOptions={"MarketType": "spot"})
    address = cloud.ready(instance_id)
    path = "meta-data/events/recommendations/rebalance"
    assert metadata(cloud, address, path) is None
    answer = cloud.control("rebalance", {"instance_id": instance_id})
    told = wait_until(lambda: metadata(cloud, address, path), "the recommendation")
    assert json.loads(told) == {"noticeTime": answer["time"]}
    assert cloud.control("rebalance", {"instance_id": instance_id}) == answer
    assert cloud.state(instance_id) == "running"


def test_status_tells_instances_and_groups(cloud: LocalCloud) -> None:
    group = cloud.group(1)
    (member,) = cloud.in_service(group, 1)
    cloud.ready(member)
    status = cloud.control("status")
    entry = cloud.host(member)
    assert entry["ip"] == cloud.address(member)
    assert (entry["flavor"], entry["speed"], entry["state"], entry["group"]) == ("c5.large", 0.2, "running", group)
    assert {"name": group, "desired": 1, "instances": 1} in status["groups"]
    cloud.delete_group(group)


@pytest.mark.parametrize(
    ("action", "document", "complaint"),
    [
        ("capacity", {"c5.large": -1}, "whole number from 0 up"),
        ("capacity", {"c5.large": True}, "whole number from 0 up"),
        ("capacity", {"c5.large": 1.5}, "whole number from 0 up"),
        ("fail-boot", {"c5.large": "sometimes"}, "got 'sometimes'"),
        ("interrupt", {"instance_id": "i-none"}, "no instance 'i-none' is pending or running"),
        ("interrupt", {"instance_id": "i-none", "in_s": -1}, "seconds from now"),
        ("terminate", {}, "instance_id: Field required"),
        ("spot-price", {"c5.large": 0}, "positive dollars per hour"),
        ("quota", {"L-NONE": 1}, "no quota L-NONE; there are L-1216C47A"),
        ("quota", {"L-1216C47A": -1}, "whole number from 0 up"),
        ("nonsense", {}, "there are GET status, GET faults, GET calls, GET bill, POST capacity"),
    ],
)
def test_a_wrong_request_is_refused_with_what_is_right(
    cloud: LocalCloud, action: str, document: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        cloud.control(action, document)


def test_a_refused_request_changes_nothing(cloud: LocalCloud) -> None:
    with pytest.raises(AssertionError):
        cloud.control("capacity", {"m5.large": 3, "m5.xlarge": -1})
    assert cloud.control("status")["capacity"] == {}
