"""What earlier passes left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.domain.move import Durations, Move
from controller.domain.observed.progress import Progress
from controller.domain.observed.spot import Noticed


@dataclass(frozen=True)
class EarlierSpeed:
    """The speed of a flavor by earlier runs.

    Attributes:
        tokens_per_s: Target tokens per second of compute.
        log_se: The standard error of its logarithm. It is larger the older the runs are, and the less they were alike.
    """

    tokens_per_s: float
    log_se: float = 0.10


@dataclass(frozen=True)
class History:
    """What earlier passes left behind: moves, oldest first, and the money spent so far (US dollars)."""

    moves: tuple[Move, ...] = ()
    spent_usd: float = 0.0
    unavailable: Mapping[str, float] = field(default_factory=dict)
    """Flavors that could not be had, with the time until which they count as unavailable."""
    earlier_speeds: Mapping[str, EarlierSpeed] = field(default_factory=dict)
    """Speeds measured in earlier runs of the same model and batch, by flavor."""
    full_tokens_per_s: Mapping[str, float] = field(default_factory=dict)
    """Speeds of flavors with CPU credits while they had some, as this run has measured them before."""
    durations: Durations = field(default_factory=dict)
    """How long the parts of the moves of this run took."""
    earlier_durations: Durations = field(default_factory=dict)
    """How long they took in earlier runs in the same circumstances."""
    noticed: tuple[Noticed, ...] = ()
    """The nodes that EC2 has taken back, or said that it may."""
    progress: Progress | None = None
    """How far the training was when ranks last said so; None where that is what they say now, or never did."""

    @property
    def move_under_way(self) -> Move | None:
        """The move that is not done yet; None where there is none."""
        return self.moves[-1] if self.moves and not self.moves[-1].phase.is_final else None
