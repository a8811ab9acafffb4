"""What all machines of a cloud share: the variables that their sessions get."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from localcloud.hosts.machine.disk.snapshots import Snapshots
from localcloud.hosts.machine.names import Names
from localcloud.hosts.machine.shared import Shared
from localcloud.link.configuration import HostsConfiguration
from localcloud.link.network import Network
from localcloud.settings import Settings
from tests.unit.localcloud.hosts.machine.specs import spec_of

NO_BRIDGES = cast(Any, None)


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    """What the machines of a cloud on a port of its own share."""
    configuration = HostsConfiguration(Settings(port=5599, region="eu-west-1"), tmp_path)
    return Shared(configuration, Names("cvabc123"), tmp_path, Snapshots(tmp_path), NO_BRIDGES, Network())


def test_sessions_know_where_the_api_answers(shared: Shared) -> None:
    assert shared.environment(spec_of(4)) == {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:5599",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }


def test_hosts_are_no_faster_than_the_core_of_the_configuration() -> None:
    settings = Settings(core_tokens_per_s=7000)
    assert settings.brake_of(None) == {}
    assert settings.brake_of(0.25) == {
        "CENTAVO_EMULATED_SPEED": "0.25",
        "CENTAVO_EMULATED_CORE_TOKENS_PER_S": "7000",
    }


def test_a_speed_brakes_the_training_and_nothing_else(shared: Shared) -> None:
    assert shared.environment(spec_of(4, speed=0.25))["CENTAVO_EMULATED_SPEED"] == "0.25"
