"""How far a training is: plain numbers, the same on every rank, that travel with the state and go into checkpoints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from trainer.settings.settings import StopSettings


@dataclass
class Progress:
    """`cursor` counts global batches taken, `tokens` target tokens trained on, both over all ranks and epochs.

    `steps_lost`: undone and done again, None when nobody knows any more: an end without a checkpoint leaves no count.
    `log` holds the lines of train.log, `changes` the changes of the world, `stopped` why it ended early.
    """

    step: int = 0
    cursor: int = 0
    tokens: int = 0
    loss: float | None = None
    steps_lost: int | None = 0
    restarts: int = 0
    best_validation: float | None = None
    poor_validations: int = 0
    stopped: str | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """A deep copy as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Progress:
        """What `as_dict` gave."""
        return cls(**data)

    def is_done(self, stop: StopSettings, batches_per_epoch: int) -> bool:
        """Whether the amount of work has been done, or the training was stopped early."""
        return (
            self.stopped is not None
            or (stop.steps is not None and self.step >= stop.steps)
            or (stop.tokens is not None and self.tokens >= stop.tokens)
            or (stop.epochs is not None and self.cursor >= stop.epochs * batches_per_epoch)
        )

    def total_steps(self, stop: StopSettings, batches_per_epoch: int, accumulate: int) -> int | None:
        """Steps in all, by the limit that will be reached first; None while only tokens are given and none was done."""
        totals = []
        if stop.steps is not None:
            totals.append(stop.steps)
        if stop.epochs is not None:
            totals.append(-(-stop.epochs * batches_per_epoch // accumulate))
        if stop.tokens is not None and self.tokens:
            totals.append(max(self.step, -(-stop.tokens * self.step // self.tokens)))
        return min(totals, default=None)

    @property
    def is_validated(self) -> bool:
        """Whether the validation loss of this step is in the log."""
        return any(line["step"] == self.step and "validation_loss" in line for line in self.log[-1:])

    def resume(self, was_stopped: bool, patience: int | None) -> None:
        """Take up a checkpoint, one that `was_stopped` made or any; an early stop holds as `patience` now says."""
        self.restarts += 1
        if not was_stopped:
            self.steps_lost = None
        if patience is None or self.poor_validations < patience:
            self.stopped = None

    def lose(self, steps: int) -> None:
        """Count steps that were undone."""
        if self.steps_lost is not None:
            self.steps_lost += steps

    def judge(self, validation_loss: float, patience: int | None) -> None:
        """Take a validation loss (nats per token); with `patience` poor ones in a row the training stops."""
        if self.best_validation is None or validation_loss < self.best_validation:
            self.best_validation, self.poor_validations = validation_loss, 0
            return
        self.poor_validations += 1
        if patience is not None and self.poor_validations >= patience:
            self.stopped = f"no better validation loss than {self.best_validation:.4f} in {patience} validations"
