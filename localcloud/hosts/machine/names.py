"""The names of all that a cloud makes on this machine. They carry the cloud's prefix, so nothing else is touched."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

DIGITS = 6  # an interface's name has at most 15 characters (IFNAMSIZ)


@dataclass(frozen=True)
class Names:
    """The names of one cloud. `prefix` is made of its state folder's path."""

    prefix: str

    @classmethod
    def of(cls, state_dir: Path) -> Names:
        """Returns the names of the cloud in a state folder."""
        return cls("cv" + _digest(str(state_dir)))

    @property
    def table(self) -> str:
        """The nftables table."""
        return self.prefix

    @property
    def cgroup(self) -> str:
        """The control group with one group for each instance."""
        return self.prefix

    @property
    def gate(self) -> str:
        """The bridge that carries this machine's own address among the public addresses."""
        return self.prefix + "g"

    @property
    def bridges(self) -> str:
        """What the names of all bridges of subnets begin with."""
        return self.prefix + "b"

    def bridge(self, subnet_id: str) -> str:
        """Returns the name of a subnet's bridge."""
        return self.bridges + _digest(subnet_id)

    def cable(self, instance_id: str) -> str:
        """Returns the name of the interface that leads to an instance."""
        return self.prefix + "v" + _digest(instance_id)

    def namespace(self, instance_id: str) -> str:
        """Returns the name of an instance's network namespace."""
        return f"{self.prefix}-{instance_id}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
