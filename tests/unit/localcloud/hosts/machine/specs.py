"""Specifications of machines for tests."""

from __future__ import annotations

from typing import Any

from localcloud.link.spec import HostSpec


def spec_of(number: int, **entries: Any) -> HostSpec:
    """Returns an instance at 10.20.1.`number`."""
    return HostSpec(
        **{
            "instance_id": f"i-{number:017x}",
            "flavor": "t3.micro",
            "address": f"10.20.1.{number}",
            "availability_zone": "us-east-1a",
            "region": "us-east-1",
            "account": "123456789012",
            "image_id": "ami-1",
            "hostname": f"ip-10-20-1-{number}.ec2.internal",
            "subnet_id": "subnet-1",
            **entries,
        }
    )
