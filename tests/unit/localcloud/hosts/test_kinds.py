"""The kind of a host is chosen by name."""

from __future__ import annotations

import pytest

from localcloud.hosts.kinds import KINDS, kind_named
from localcloud.hosts.loopback.host import LoopbackHost


def test_loopback_is_a_kind() -> None:
    assert kind_named("loopback") is LoopbackHost


def test_an_unknown_kind_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=f"no kind of host 'cloud'; use one of {', '.join(KINDS)}"):
        kind_named("cloud")
