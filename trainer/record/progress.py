"""How far a training is: plain numbers, the same on every rank, that travel with the state and go into checkpoints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from trainer.settings.training import StopSettings


@dataclass
class Progress:
    """How far a training is, over all ranks and epochs.

    Attributes:
        step: Updates of the parameters.
        cursor: Global batches taken.
        tokens: Target tokens trained on.
        loss: The loss of the last step in nats per target token.
        steps_lost: Steps that were undone and made again. None: unknown, since a training that ends without a
            checkpoint leaves no count.
        restarts: How often the training was resumed from a checkpoint.
        best_validation: The lowest validation loss so far.
        poor_validations: Validations since then.
        stopped: Why the training ended early.
        changes: The changes of the world.
        log: The lines of train.log.
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
        """Returns a deep copy as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Progress:
        """Returns the progress of which `data` is the `as_dict`."""
        return cls(**data)

    def is_done(self, stop: StopSettings, batches_per_epoch: int) -> bool:
        """Returns whether the amount of work has been done, or the training was stopped early."""
        return (
            self.stopped is not None
            or (stop.steps is not None and self.step >= stop.steps)
            or (stop.tokens is not None and self.tokens >= stop.tokens)
            or (stop.epochs is not None and self.cursor >= stop.epochs * batches_per_epoch)
        )

    def total_steps(self, stop: StopSettings, batches_per_epoch: int, accumulate: int) -> int | None:
        """Returns the steps of the whole training, by the limit that will be reached first.

        None: the limit is in tokens, and no step has been made from which to estimate.
        """
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
        """Continues from a checkpoint.

        Args:
            was_stopped: Whether the checkpoint was written because the training was told to stop. Any other one may be
                older than the last step, so that nobody knows how many steps are lost.
            patience: The present setting. An early stop holds only if it follows from it.
        """
        self.restarts += 1
        if not was_stopped:
            self.steps_lost = None
        if patience is None or self.poor_validations < patience:
            self.stopped = None

    def count_step(self, tokens: int, loss: float, batches: int) -> None:
        """Counts a step that took `batches` global batches with `tokens` target tokens."""
        self.step += 1
        self.cursor += batches
        self.tokens += tokens
        self.loss = loss

    def lose(self, steps: int) -> None:
        """Counts steps that were undone."""
        if self.steps_lost is not None:
            self.steps_lost += steps

    def judge(self, validation_loss: float, patience: int | None) -> None:
        """Takes a validation loss (nats per token). After `patience` poor ones in a row the training is to stop."""
        if self.best_validation is None or validation_loss < self.best_validation:
            self.best_validation, self.poor_validations = validation_loss, 0
            return
        self.poor_validations += 1
        if patience is not None and self.poor_validations >= patience:
            self.stopped = f"no better validation loss than {self.best_validation:.4f} in {patience} validations"
