"""What steps come to: one of them, and those between two lines of train.log."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from trainer.node.fact import timestamp


@dataclass(frozen=True)
class StepResult:
    """One step: sums over all ranks, and each rank's target tokens and compute time.

    `ids` counts both sides of the batch, padding included, and `padding` the padding alone; `data_wait_s` is the
    mean over the ranks of how long they waited for their batch.
    """

    loss_sum: float
    tokens: int
    ids: int
    padding: float
    data_wait_s: float
    is_change_due: bool
    is_stop_due: bool
    tokens_by_rank: list[float]
    compute_time_s_by_rank: list[float]


@dataclass
class LogWindow:
    """What has come together since the last line of the log."""

    began: float = field(default_factory=time.perf_counter)
    tokens: int = 0
    ids: int = 0
    padding: float = 0.0
    data_wait_s: float = 0.0

    def add(self, result: StepResult) -> None:
        """One more step."""
        self.tokens += result.tokens
        self.ids += result.ids
        self.padding += result.padding
        self.data_wait_s += result.data_wait_s

    def line(self, step: int, loss: float, world_size: int) -> dict[str, Any]:
        """The line that ends the window at `step`: `loss` in nats per target token, speed in target tokens."""
        seconds = max(time.perf_counter() - self.began, 1e-9)
        return {
            "step": step,
            "loss": round(loss, 5),
            "tokens_per_s": round(self.tokens / seconds, 1),
            "padding_share": round(self.padding / self.ids, 4),
            "data_wait_share": round(self.data_wait_s / seconds, 4),
            "world_size": world_size,
            "t": timestamp(time.time()),
        }


def validation_line(step: int, loss: float) -> dict[str, Any]:
    """A line of its own: the mean loss of the validation split after `step`, nats per target token."""
    return {"step": step, "validation_loss": round(loss, 5), "t": timestamp(time.time())}
