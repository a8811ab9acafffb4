"""How long each state of a training, its head and its nodes has lasted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from controller.domain import LauncherState


class Condition(str, Enum):
    """How a node is."""

    WELL = "well"
    """Its rank makes steps; or it takes no part, and answers."""
    STILL = "still"
    """It is a rank and makes no step while others do."""
    IDLE = "idle"
    """It is in the hosts file and has never made a step, while most others have."""
    DEAD = "dead"
    """It is in the hosts file, and its worker has failed for good."""
    SILENT = "silent"
    """It does not answer."""


@dataclass(frozen=True)
class NodeSigns:
    """How one node is.

    Attributes:
        is_member: Whether it is in the hosts file.
        for_s: How long its condition has lasted, in seconds.
        step: The last step of its rank; None where it has never trained.
        marked_step: The step of its rank when the training last made progress.
        has_answered: Whether it has ever answered.
    """

    flavor: str
    is_member: bool
    condition: Condition = Condition.WELL
    for_s: float = 0.0
    step: int | None = None
    marked_step: int | None = None
    has_answered: bool = False

    @property
    def has_moved(self) -> bool:
        """Whether its rank has made a step since the training last made progress."""
        return self.step is not None and self.marked_step is not None and self.step > self.marked_step


@dataclass(frozen=True)
class Signs:
    """How long each state has lasted. Only time that was watched counts, so that a controller that was away or could
    not ask EC2 takes nothing for ill.

    Attributes:
        at: When the last look was taken; None before the first one.
        step: The training's step, as the median of its ranks.
        left_s: How long the remaining steps take, as the ranks last said.
        still_s: How long no new step was seen, in seconds.
        is_moving: Whether the last look showed new steps.
        launcher: The state of the launcher; None while it is unknown.
        launcher_s: How long the launcher has been in that state, in seconds.
        head_silent_s: How long the head has not answered, in seconds; None where it answers.
        nodes: The nodes that run, by instance id.
    """

    at: float | None = None
    step: int | None = None
    left_s: float | None = None
    still_s: float = 0.0
    is_moving: bool = False
    launcher: LauncherState | None = None
    launcher_s: float = 0.0
    head_silent_s: float | None = None
    nodes: Mapping[str, NodeSigns] = field(default_factory=dict)
