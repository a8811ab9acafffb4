"""The kind of a host is chosen by name."""

from __future__ import annotations

import pytest

from localcloud.hosts.kinds import KINDS, kind_named
from localcloud.hosts.loopback.kind import Loopback
from localcloud.hosts.machine.kind import Machines


def test_there_are_hosts_on_loopback_and_machines() -> None:
    assert kind_named("loopback") is Loopback
    assert kind_named("machine") is Machines


def test_an_unknown_kind_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=f"no kind of host 'cloud'; use one of {', '.join(KINDS)}"):
        kind_named("cloud")
