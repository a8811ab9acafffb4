"""How far a training is: plain numbers, the same on every rank, that travel with the state and go into checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from trainer.checkpoint.log_lines import LogLines
from trainer.record.validation import Validation, is_better, name_of
from trainer.settings.training import StopSettings
from trainer.settings.validation import Measure


@dataclass
class Progress:
    """How far a training is, over all ranks and epochs.

    Attributes:
        step: Steps made. A step whose update was skipped counts like any other.
        cursor: Global batches taken, those of skipped updates included.
        tokens: Target tokens of these batches.
        loss: The loss of the last step whose update was made, in nats per target token.
        skipped_updates: Steps whose update was skipped, since the loss or a gradient was not a finite number.
        skipped_in_a_row: How many of them were the last steps.
        replicas_corrected: How often a rank differed from the others and took over their state.
        replicas_equal_at: The last step after which all ranks were known to have the same state.
        steps_lost: Steps that were undone and made again. None: unknown, since a training that ends without a
            checkpoint leaves no count.
        restarts: How often the training was resumed from a checkpoint.
        measure: What validations are judged by.
        best_validation: The best value of the measure so far.
        poor_validations: Validations since then.
        best: The steps of the best checkpoints with their values of the measure, the best one first.
        stopped: Why the training ended early.
        init_from: What the training began with in place of random parameters.
        changes: The changes of the world.
        log: The lines of train.log.
    """

    step: int = 0
    cursor: int = 0
    tokens: int = 0
    loss: float | None = None
    skipped_updates: int = 0
    skipped_in_a_row: int = 0
    replicas_corrected: int = 0
    replicas_equal_at: int = 0
    steps_lost: int | None = 0
    restarts: int = 0
    measure: Measure = "loss"
    best_validation: float | None = None
    poor_validations: int = 0
    best: list[tuple[int, float]] = field(default_factory=list)
    stopped: str | None = None
    init_from: str | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    log: LogLines = field(default_factory=LogLines)

    def as_dict(self) -> dict[str, Any]:
        """Returns a copy by the names of the attributes. What it costs does not grow with the log."""
        values = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        return values | {"changes": list(self.changes), "best": list(self.best), "log": self.log.copy()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Progress:
        """Returns the progress of which `data` is the `as_dict`."""
        progress = cls(**data)
        log = data.get("log", [])
        progress.changes = list(progress.changes)
        progress.best = [(step, value) for step, value in progress.best]  # JSON has made lists of them
        progress.log = log.copy() if isinstance(log, LogLines) else LogLines(log)
        return progress

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

    def resume(self, was_stopped: bool, patience: int | None, measure: Measure = "loss") -> None:
        """Continues from a checkpoint.

        Args:
            was_stopped: Whether the checkpoint was written because the training was told to stop. Any other one may be
                older than the last step, so that nobody knows how many steps are lost.
            patience: The present setting. An early stop holds only if it follows from it.
            measure: The present setting. What was best by another measure is forgotten.
        """
        self.restarts += 1
        self.skipped_in_a_row = 0
        if not was_stopped:
            self.steps_lost = None
        self.judge_by(measure)
        if patience is None or self.poor_validations < patience:
            self.stopped = None

    def count_step(self, tokens: int, loss: float, batches: int) -> None:
        """Counts a step that took `batches` global batches with `tokens` target tokens."""
        self._move_on(tokens, batches)
        self.loss = loss
        self.skipped_in_a_row = 0

    def count_skipped_step(self, tokens: int, batches: int) -> None:
        """Counts a step whose update was skipped: its batches were read, and are not read again."""
        self._move_on(tokens, batches)
        self.skipped_updates += 1
        self.skipped_in_a_row += 1

    def _move_on(self, tokens: int, batches: int) -> None:
        self.step += 1
        self.cursor += batches
        self.tokens += tokens

    def lose(self, steps: int) -> None:
        """Counts steps that were undone."""
        if self.steps_lost is not None:
            self.steps_lost += steps

    def judge_by(self, measure: Measure) -> None:
        """Judges validations by `measure` from now on. What was best by another one is forgotten."""
        if measure != self.measure:
            self.measure, self.best_validation, self.poor_validations, self.best = measure, None, 0, []

    def judge(self, validation: Validation, patience: int | None, keep_best: int = 0) -> bool:
        """Takes a validation. After `patience` poor ones in a row the training is to stop.

        Returns:
            Whether it is among the best `keep_best` so far.
        """
        value = validation.value(self.measure)
        if is_better(self.measure, value, self.best_validation):
            self.best_validation, self.poor_validations = value, 0
        else:
            self.poor_validations += 1
        if patience is not None and self.poor_validations >= patience:
            best = "any number" if self.best_validation is None else f"{self.best_validation:.4f}"
            self.stopped = f"no better validation {name_of(self.measure)} than {best} in {patience} validations"
        return self._rank(value, keep_best)

    def _rank(self, value: float, keep_best: int) -> bool:
        """Takes the last step into the best ones, if it is one of them. Of equal ones the earlier stays."""
        place = sum(not is_better(self.measure, value, other) for _, other in self.best)
        if place >= keep_best or math.isnan(value):
            del self.best[keep_best:]
            return False
        self.best = [*self.best[:place], (self.step, value), *self.best[place:]][:keep_best]
        return True

    def forget_best_from(self, step: int) -> None:
        """Forgets the best checkpoints of `step` and later steps, which were removed."""
        self.best = [one for one in self.best if one[0] < step]
