"""What became of a host, as the hosts' process reports it to the API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class HostState(str, Enum):
    """The state of a host."""

    BOOTING = "booting"
    READY = "ready"
    FAILED = "failed"
    STOPPING = "stopping"
    GONE = "gone"


@dataclass(frozen=True)
class HostReport:
    """One change of a host.

    `detail` says why the host failed or does not answer. `user_data` is `none`, `running`, `done`, `ignored` or
    `failed (exit N)`. `boot` is the number of the boot that the report is about.
    """

    instance_id: str
    state: HostState
    detail: str = ""
    user_data: str = "none"
    boot: int = 1


Report = Callable[[HostReport], None]
"""Takes each report of a host."""
