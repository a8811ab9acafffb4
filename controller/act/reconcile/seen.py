"""What is seen of the cluster in one pass, as far as the next actions depend on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from controller.domain import Fleet, LauncherState


class Standing(str, Enum):
    """How far a node is on its way into the training."""

    PENDING = "pending"
    """EC2 has launched it, and it does not run yet."""
    SILENT = "silent"
    """It runs and did not answer."""
    COLD = "cold"
    """It answers and has to be configured before it can take part."""
    STARTING = "starting"
    """Its worker warms up."""
    WARM = "warm"
    """Its worker waits for a rank."""
    TRAINS_OTHERWISE = "trains otherwise"
    """Its rank trains in another world than that of the hosts file."""
    TRAINS = "trains"
    """Its rank trains in the world of the hosts file."""
    FAILED = "failed"
    """Its rank says that it failed."""
    ENDED = "ended"
    """Its rank has seen the training's end."""

    @property
    def runs(self) -> bool:
        """Whether EC2 runs the node."""
        return self is not Standing.PENDING

    @property
    def holds_state(self) -> bool:
        """Whether its rank trains, and so holds the training's parameters."""
        return self in (Standing.TRAINS, Standing.TRAINS_OTHERWISE)


@dataclass(frozen=True)
class SeenNode:
    """One worker.

    Attributes:
        is_member: Whether the head's hosts file names it.
        rank: Its rank, where its fact says one.
        leaves_first: Whether it is one of the nodes that a decision wants to lose.
        is_dropped: Whether it was taken out, for a fault or since EC2 takes it back, so that it takes part no more.
        is_doomed: Whether EC2 takes it back, or may soon. It trains until another node trains in its place.
        launched_at: When EC2 launched it (seconds since the epoch).
        said: Why it is silent, or why its rank failed.
    """

    instance_id: str
    flavor: str
    standing: Standing
    is_member: bool = False
    rank: int | None = None
    leaves_first: bool = False
    is_dropped: bool = False
    is_doomed: bool = False
    launched_at: float | None = None
    said: str = ""


@dataclass(frozen=True)
class Seen:
    """What one pass sees.

    Attributes:
        nodes: The workers that are pending or running.
        launcher: The state of the launcher; None where the head did not answer.
        hosts: How many nodes the hosts file names, those that are gone included.
        capacity: What the Auto Scaling groups are set to; None where they were not asked.
        is_hosts_file_old: Whether the hosts file has had its time to take effect.
    """

    nodes: tuple[SeenNode, ...]
    launcher: LauncherState | None
    hosts: int = 0
    capacity: Fleet | None = None
    is_hosts_file_old: bool = False

    @property
    def members(self) -> tuple[SeenNode, ...]:
        """The living nodes that the hosts file names, without those that were taken out for a fault."""
        return tuple(node for node in self.nodes if node.is_member and not node.is_dropped)

    @property
    def strangers(self) -> tuple[SeenNode, ...]:
        """The living nodes that the hosts file does not name and that may take part."""
        return tuple(node for node in self.nodes if not node.is_member and not node.is_dropped)


def fleet_of(nodes: Iterable[SeenNode]) -> Fleet:
    """Returns the nodes by flavor."""
    return Fleet.counted(node.flavor for node in nodes)


def ids_of(nodes: Iterable[SeenNode]) -> tuple[str, ...]:
    """Returns the ids of the nodes, in order of their names."""
    return tuple(sorted(node.instance_id for node in nodes))
