"""The configuration of the hosts' process: the first line that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localcloud.link.instance_dir import InstanceDir
from localcloud.settings import Settings


@dataclass(frozen=True)
class HostsConfiguration:
    """What all hosts have in common."""

    settings: Settings
    state_dir: Path

    def instance_dir(self, instance_id: str) -> InstanceDir:
        """Returns the files of an instance."""
        return InstanceDir.of(self.state_dir, instance_id)
