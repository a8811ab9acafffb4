"""What one rank says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TrainingState(str, Enum):
    """What a rank says of itself in its fact."""

    STARTING = "starting"
    TRAINING = "training"
    DRAINING = "draining"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    FAILED = "failed"


class NoticeKind(str, Enum):
    """What the spot service says of a node."""

    INTERRUPTION = "interruption"
    """EC2 takes it back at a time that is named."""
    REBALANCE = "rebalance"
    """It is at a higher risk of being taken back."""


@dataclass(frozen=True)
class Notice:
    """What the spot service has said of a node, as the node learned it.

    Attributes:
        kind: What was said.
        seen_at: When the node learned it (seconds since the epoch).
        ends_at: When EC2 takes the node back; None where no time is named.
    """

    kind: NoticeKind
    seen_at: float
    ends_at: float | None = None


@dataclass(frozen=True)
class MembershipChange:
    """The last time that ranks joined or left the training, as a rank that stayed saw it."""

    at: float
    from_size: int
    to_size: int
    pause_s: float
    steps_lost: int


@dataclass(frozen=True)
class Fact:
    """One rank's iteration fact (schema 1). Times are medians over the last `window` steps, warm-up left out."""

    instance_id: str
    flavor: str
    rank: int | None
    world_size: int | None
    state: TrainingState
    step: int
    iteration_time_s: float | None
    compute_time_s: float | None
    samples: float | None
    """Sentence pairs of this rank in a step, as the median over the window."""
    tokens: float | None
    """Target tokens of this rank in a step, as the median over the window."""
    window: int
    """How many steps the medians are over; 0 while there are none."""
    updated_at: float
    peak_memory_bytes: int | None = None
    reason: str | None = None
    total_steps: int | None = None
    total_tokens: int | None = None
    """Target tokens that the whole training has trained on so far."""
    loss: float | None = None
    share: float | None = None
    """This rank's share of the global batch, 0 to 1."""
    emulated_speed: float | None = None
    last_change: MembershipChange | None = None
    steal_share: float | None = None
    """The share of processor time that the machine beneath a virtual one did not give to it, 0 to 1."""
    notice: Notice | None = None
    """What the spot service has said last of the node."""
    gradient_bytes: int | None = None
    """How many bytes the rank's gradients have in a step, as they travel to other ranks."""
