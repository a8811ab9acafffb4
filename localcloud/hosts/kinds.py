"""The kinds of hosts by name."""

from __future__ import annotations

from collections.abc import Mapping

from localcloud.hosts.host import MakeKind
from localcloud.hosts.loopback.kind import Loopback
from localcloud.hosts.machine.kind import Machines

KINDS: Mapping[str, MakeKind] = {"loopback": Loopback, "machine": Machines}


def kind_named(name: str) -> MakeKind:
    """Returns the kind of host with a name.

    Raises:
        ValueError: there is no such kind.
    """
    if name not in KINDS:
        raise ValueError(f"there is no kind of host {name!r}; use one of {', '.join(KINDS)}")
    return KINDS[name]
