"""The control groups of one machine: a group of its own in each hierarchy, so that machines share none.

Linux has control groups of version 1 (a hierarchy for each controller) and version 2 (one hierarchy). Version 1 comes
with an empty hierarchy of version 2 besides, `unified`, which systemd within the machine uses.
https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OF_VERSION_1 = ("systemd", "unified", "memory", "cpu", "cpuacct", "pids", "freezer")
CONTROLLERS = "+memory +cpu +pids"
PERIOD_US = 100_000
MIB = 1024**2
REMOVE_LIMIT_S = 15.0


class ControlGroups:
    """The groups of an instance."""

    def __init__(self, cloud: str, instance_id: str, root: Path = ROOT) -> None:
        self._is_version_2 = (root / "cgroup.controllers").exists()
        hierarchies = [root] if self._is_version_2 else [root / name for name in OF_VERSION_1 if (root / name).is_dir()]
        self._clouds = [hierarchy / cloud for hierarchy in hierarchies]
        self._groups = [hierarchy / cloud / instance_id for hierarchy in hierarchies]

    def make(self, memory_mib: int, cores: int) -> None:
        """Makes the groups with their limits. A limit whose controller this machine does not give is left out.

        Args:
            memory_mib: the memory of the instance type.
            cores: how many cores the machine may use.
        """
        for group in self._groups:
            if self._is_version_2:
                for above in (group.parent.parent, group.parent):
                    above.mkdir(exist_ok=True)
                    with contextlib.suppress(OSError):
                        (above / "cgroup.subtree_control").write_text(CONTROLLERS)
            group.mkdir(parents=True, exist_ok=True)
            for name, value in limits(memory_mib, cores).items():
                if (group / name).exists():
                    (group / name).write_text(value)

    @property
    def entrances(self) -> list[Path]:
        """The files that a process writes its id to, to enter the groups."""
        return [group / "cgroup.procs" for group in self._groups]

    def processes(self) -> set[int]:
        """Returns the ids of the processes in the groups."""
        return {int(line) for group in self._groups for line in _lines_below(group)}

    def freeze(self, frozen: bool) -> None:
        """Stops all processes in the groups, or lets them go on."""
        for group in self._groups:
            for name, value in (
                ("freezer.state", "FROZEN" if frozen else "THAWED"),
                ("cgroup.freeze", "1" if frozen else "0"),
            ):
                if (group / name).exists() and group.parent.parent.name != "unified":
                    (group / name).write_text(value)

    def remove(self) -> None:
        """Removes the groups, and those of the cloud when they are empty. Harmless if there are none."""
        remove_trees(self._groups)
        for cloud in self._clouds:
            with contextlib.suppress(OSError):
                cloud.rmdir()


def limits(memory_mib: int, cores: int) -> dict[str, str]:
    """Returns the contents of the files that limit a group, for both versions."""
    memory, quota = str(memory_mib * MIB), str(cores * PERIOD_US)
    return {
        "memory.limit_in_bytes": memory,
        "memory.max": memory,
        "cpu.cfs_period_us": str(PERIOD_US),
        "cpu.cfs_quota_us": quota,
        "cpu.max": f"{quota} {PERIOD_US}",
    }


def remove_trees(groups: Iterable[Path], limit_s: float = REMOVE_LIMIT_S) -> None:
    """Removes groups and those below them. What has processes after so many seconds stays."""
    limit = time.monotonic() + limit_s
    for group in groups:
        while not _remove_tree(group) and time.monotonic() < limit:
            time.sleep(0.05)  # a process that was killed leaves its group a moment later


def _remove_tree(group: Path) -> bool:
    """Removes a group and the groups below it. Returns whether it is gone."""
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return not group.exists()


def clouds_groups(cloud: str, root: Path = ROOT) -> list[Path]:
    """Returns the groups of a cloud in all hierarchies."""
    return [path for path in (root / cloud, *(root / name / cloud for name in OF_VERSION_1)) if path.is_dir()]


def _lines_below(group: Path) -> list[str]:
    lines = []
    for folder, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            lines += (Path(folder) / "cgroup.procs").read_text().split()
    return lines
