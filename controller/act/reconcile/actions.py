"""What a pass may do next. Each action may be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from controller.domain import NO_NODES, Fleet


@dataclass(frozen=True)
class SetCapacity:
    """Makes Terraform ask for this fleet."""

    fleet: Fleet


@dataclass(frozen=True)
class Configure:
    """Makes workers of these nodes, warm and ready to join.

    Attributes:
        nodes: Instance ids.
        with_head: Whether the head is configured, too.
    """

    nodes: tuple[str, ...]
    with_head: bool = False


@dataclass(frozen=True)
class SetHosts:
    """Writes the hosts file: these nodes (instance ids) take part in the training."""

    nodes: tuple[str, ...]


@dataclass(frozen=True)
class StartTraining:
    """Starts the launcher. It resumes from the last checkpoint where there is one."""


@dataclass(frozen=True)
class StopTraining:
    """Stops the launcher."""


@dataclass(frozen=True)
class Commit:
    """Keeps that there is no way back any more: these nodes (instance ids) are let go next."""

    leaving: tuple[str, ...]


@dataclass(frozen=True)
class LetGo:
    """Allows a scale-in to end these nodes (instance ids)."""

    nodes: tuple[str, ...]


class Awaited(str, Enum):
    """What a pass waits for."""

    HEAD = "the head to answer"
    RUNNING = "nodes to run"
    READY = "nodes to answer"
    TRAINING = "nodes to train together"
    LEAVING = "nodes to leave the training"
    ENDING = "EC2 to end nodes"


@dataclass(frozen=True)
class Wait:
    """Does nothing until the next pass.

    Attributes:
        awaited: What is waited for.
        nodes: The nodes (instance ids) that are waited for.
        missing: The nodes that do not run yet, by flavor.
    """

    awaited: Awaited
    nodes: tuple[str, ...] = ()
    missing: Fleet = NO_NODES

    def __str__(self) -> str:
        """Returns what is waited for, in words."""
        if self.missing.size:
            return f"waiting for {self.awaited.value}: {self.missing}"
        nodes = f": {', '.join(self.nodes)}" if self.nodes else ""
        return f"waiting for {self.awaited.value}{nodes}"


@dataclass(frozen=True)
class Reached:
    """Nothing is left to do: all is as the goal wants it."""


Action = SetCapacity | Configure | SetHosts | StartTraining | StopTraining | Commit | LetGo | Wait | Reached
