"""How much memory this process has, and how much it may have on this node."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

LIMIT_VARIABLE = "CENTAVO_EMULATED_MEMORY_BYTES"
SCARCE_ABOVE = 0.75


def available_bytes(
    resident: int,
    environment: Mapping[str, str] | None = None,
    meminfo: Path = Path("/proc/meminfo"),
    cgroup: Path = Path("/sys/fs/cgroup"),
) -> int:
    """Returns the bytes that this process may have in all: those it has, and those that are free.

    The limit of the control group counts. CENTAVO_EMULATED_MEMORY_BYTES lowers the result, for a node that stands for a
    smaller one.

    Args:
        resident: The bytes that the process has.
        environment: The environment variables; None: those of the process.
        meminfo: Where Linux says what the machine has.
        cgroup: Where Linux says what the control group may have.
    """
    free = [_meminfo_available(meminfo), _cgroup_available(cgroup)]
    known = [resident + room for room in free if room is not None]
    emulated = (os.environ if environment is None else environment).get(LIMIT_VARIABLE, "")
    if emulated.isdigit():
        known.append(int(emulated))
    return min(known) if known else 2**62


def resident_bytes() -> int:
    """Returns the bytes that this process has at the moment."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def is_scarce(resident: int, available: int) -> bool:
    """Returns whether a process nears what it may have, so that it does better to return unused memory."""
    return resident > SCARCE_ABOVE * available


def _meminfo_available(path: Path) -> int | None:
    try:
        fields = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        return None


def _cgroup_available(directory: Path) -> int | None:
    try:
        limit = (directory / "memory.max").read_text().strip()
        used = int((directory / "memory.current").read_text())
        return None if limit == "max" else int(limit) - used + _inactive_file(directory)
    except (OSError, ValueError):
        return None


def _inactive_file(directory: Path) -> int:
    """Returns the bytes of files that Linux keeps in memory and gives up where memory is wanted."""
    try:
        fields = dict(line.split() for line in (directory / "memory.stat").read_text().splitlines())
        return int(fields.get("inactive_file", 0))
    except (OSError, ValueError):
        return 0
