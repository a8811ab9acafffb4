"""An image of a machine: another machine boots from it, with what the first one did and an identity of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.machine.conftest import Cluster
from tests.support.local_cloud import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.needs_tool("machines"), pytest.mark.timeout(900)]
LIMIT_S = 120.0
IDENTITY = "hostname; cat /etc/machine-id; cat /etc/ssh/ssh_host_ed25519_key.pub"
CHANGE = "sudo -n sh -c 'echo baked >/srv/written; rm /etc/issue.net; truncate --size 0 /etc/machine-id'"


def _is(cluster: Cluster, image: str, state: str) -> bool:
    described: dict[str, Any] = cluster.cloud.ec2.describe_images(ImageIds=[image])["Images"][0]
    return bool(described["State"] == state)


def test_a_machine_of_an_image_has_what_the_other_one_wrote_and_its_own_identity(cluster: Cluster) -> None:
    cloud = cluster.cloud
    first = cloud.launch("head", UserData="#!/bin/sh\ntouch /srv/first\n")
    assert cloud.finished(first) == "done"
    before = cloud.on(first, IDENTITY).split("\n")
    cloud.on(first, CHANGE)
    cloud.ec2.stop_instances(InstanceIds=[first])
    wait_until(lambda: cloud.state(first) == "stopped", f"{first} is stopped", LIMIT_S)
    image = cloud.ec2.create_image(InstanceId=first, Name="baked")["ImageId"]
    wait_until(lambda: _is(cluster, image, "available"), f"{image} is available", LIMIT_S)
    second = cloud.launch("head", ImageId=image, UserData="#!/bin/sh\ntouch /srv/second\n")
    assert cloud.finished(second) == "done"
    assert cloud.on(second, "cat /srv/written; ls /srv /etc/issue.net 2>/dev/null || true").split() == [
        "baked", "/srv:", "first", "second", "written",
    ]  # fmt: skip
    after = cloud.on(second, IDENTITY).split("\n")
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert len(after[1]) == len(before[1]) == 32
    cloud.ec2.deregister_image(ImageId=image)
    assert cloud.on(second, "cat /srv/written") == "baked", "it goes on without the image"
    cloud.ec2.terminate_instances(InstanceIds=[first, second])
    folder = cloud.state_dir / "images"
    wait_until(lambda: not list(folder.iterdir()), "the deregistered image is deleted", LIMIT_S)
