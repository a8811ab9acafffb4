"""Values survive their way between the two processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from localcloud.link.configuration import HostsConfiguration
from localcloud.link.messages import CONFIGURATION, REPORT, WANTED
from localcloud.link.network import Network, Rule, SecurityGroup, Subnet
from localcloud.link.report import HostReport, HostState
from localcloud.link.spec import HostSpec, SpotNotice
from localcloud.link.wanted import Wanted
from localcloud.settings import Settings

SPEC = HostSpec(
    instance_id="i-1",
    flavor="c5.large",
    address="127.0.0.1",
    availability_zone="us-east-1a",
    region="us-east-1",
    account="123456789012",
    image_id="ami-1",
    hostname="ip-127-0-0-1.ec2.internal",
    user_data="#!/bin/bash\necho ü\n",
    tags={"centavo:role": "worker"},
    spot_notice=SpotNotice("terminate", "2026-11-21T06:00:00Z"),
)

NETWORK = Network(
    (Subnet("subnet-1", "10.20.1.0/24", "nat"),),
    (SecurityGroup("sg-1", (Rule(False, "tcp", 22, 22, group="sg-2"), Rule(True, "-1", cidr="0.0.0.0/0"))),),
)


def test_a_specification_survives_its_way_to_the_hosts() -> None:
    wanted = Wanted([SPEC], NETWORK)
    line = WANTED.to_line(wanted)
    assert line.count("\n") == 1 and line.endswith("\n")
    assert line.isascii(), "a pipe's encoding depends on the locale"
    assert WANTED.from_line(line) == wanted


def test_a_configuration_survives_its_way_to_the_hosts() -> None:
    settings = Settings(speeds={"c5.large": 0.2}, prices=Path("/prices.yml"), capacity={"c5.large": 3})
    configuration = HostsConfiguration(settings, Path("/state"))
    assert CONFIGURATION.from_line(CONFIGURATION.to_line(configuration)) == configuration


def test_a_report_survives_its_way_to_the_api() -> None:
    report = HostReport("i-1", HostState.FAILED, "the port is taken", "failed (exit 3)", 2)
    assert REPORT.from_line(REPORT.to_line(report)) == report


def test_a_line_that_is_something_else_is_refused() -> None:
    with pytest.raises(ValidationError, match="state"):
        REPORT.from_line('{"instance_id": "i-1", "state": "asleep"}')
