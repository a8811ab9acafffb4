"""What the ranks tell each other about a step: each rank's share of it, and the totals over all ranks."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sums:
    """The numbers of a step that are added up over the ranks. Their order is the order in the exchanged vector.

    Attributes:
        loss: Summed loss in nats.
        tokens: Target tokens.
        ids: Ids on both sides of the batch, padding included.
        padding: Ids that are padding.
        data_wait_s: Seconds spent waiting for the batch.
        changes_pending: How many ranks know that the world is about to change.
        stops_asked: How many ranks were told to stop the whole training.
        checkpoints_asked: How many ranks ask for a checkpoint.
    """

    loss: float
    tokens: float
    ids: float
    padding: float
    data_wait_s: float
    changes_pending: float
    stops_asked: float
    checkpoints_asked: float = 0.0


_COUNT = len(Sums.__dataclass_fields__)


@dataclass(frozen=True)
class StepShare:
    """One rank's part of a step. `compute_time_s` is the time of its forward and backward pass."""

    sums: Sums
    compute_time_s: float

    def to_vector(self, rank: int, size: int) -> NDArray[np.float64]:
        """Returns the vector whose sum over the ranks `StepTotals.from_vector` reads, shape (8 + 2 * size,).

        The sums come first, then one place for each rank's target tokens, then one for each rank's compute time.
        """
        vector = np.zeros(_COUNT + 2 * size, dtype=np.float64)
        vector[:_COUNT] = astuple(self.sums)
        vector[_COUNT + rank] = self.sums.tokens
        vector[_COUNT + size + rank] = self.compute_time_s
        return vector


@dataclass(frozen=True)
class StepTotals:
    """A step over all ranks. `data_wait_s` is the mean over the ranks, all other numbers are sums."""

    loss_sum: float
    tokens: int
    ids: int
    padding: float
    data_wait_s: float
    is_change_due: bool
    is_stop_due: bool
    is_checkpoint_due: bool
    tokens_by_rank: list[float]
    compute_time_s_by_rank: list[float]

    @classmethod
    def from_vector(cls, vector: NDArray[Any], size: int) -> StepTotals:
        """Reads the sum of the vectors of `size` ranks."""
        sums = Sums(*(float(value) for value in vector[:_COUNT]))
        return cls(
            loss_sum=sums.loss,
            tokens=round(sums.tokens),
            ids=round(sums.ids),
            padding=sums.padding,
            data_wait_s=sums.data_wait_s / size,
            is_change_due=sums.changes_pending > 0,
            is_stop_due=sums.stops_asked > 0,
            is_checkpoint_due=sums.checkpoints_asked > 0,
            tokens_by_rank=vector[_COUNT : _COUNT + size].tolist(),
            compute_time_s_by_rank=vector[_COUNT + size :].tolist(),
        )

    @property
    def loss(self) -> float:
        """The mean loss in nats per target token."""
        return self.loss_sum / self.tokens
