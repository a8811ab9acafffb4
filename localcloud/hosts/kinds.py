"""The kinds of hosts by name."""

from __future__ import annotations

from collections.abc import Mapping

from localcloud.hosts.host import HostKind
from localcloud.hosts.loopback.host import LoopbackHost

KINDS: Mapping[str, HostKind] = {"loopback": LoopbackHost}


def kind_named(name: str) -> HostKind:
    """Returns the kind of host with a name.

    Raises:
        ValueError: there is no such kind.
    """
    if name not in KINDS:
        raise ValueError(f"there is no kind of host {name!r}; use one of {', '.join(KINDS)}")
    return KINDS[name]
