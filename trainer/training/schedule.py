"""What happens between two steps every now and then: commits, checkpoints, validations, giving memory back."""

from __future__ import annotations

import time
from dataclasses import replace

from trainer.elastic.world import World
from trainer.model.allocation import give_back
from trainer.node.memory import available_bytes, is_scarce, resident_bytes
from trainer.record.train_log import TrainLog
from trainer.training.prepare import Prepared
from trainer.training.state import TrainingState
from trainer.training.validation import validation_loss

MEMORY_EVERY_STEPS = 5


class Schedule:
    """Knows what is due after a step, and does it."""

    def __init__(self, prepared: Prepared, state: TrainingState, log: TrainLog) -> None:
        self._prepared, self._state, self._log = prepared, state, log
        self._stop, self._checkpoint = prepared.settings.stop, prepared.settings.checkpoint
        self._commit_every_steps = prepared.settings.elastic.commit_every_steps
        self._checkpointed_at = time.monotonic()

    def keep_if_due(self, world: World) -> None:
        """Commits the state, and lets rank 0 write a checkpoint in the background.

        No checkpoint is written after a skipped update: many of them in a row would push out the last good one.
        """
        step, settings = self._state.progress.step, self._checkpoint
        by_steps = settings.every_steps is not None and step % settings.every_steps == 0
        minutes = settings.every_minutes
        by_time = minutes is not None and time.monotonic() - self._checkpointed_at >= minutes * 60
        is_due = world.rank == 0 and (by_steps or by_time) and not self._state.progress.skipped_in_a_row
        if step % self._commit_every_steps == 0 or by_steps or is_due:
            self._state.commit()
        if is_due:
            self._checkpointed_at = time.monotonic()
            self._prepared.checkpoints.save_in_background(self._state.committed)  # one copy serves both

    def keep_for_stop(self, world: World) -> None:
        """Lets rank 0 write the checkpoint that a stopped training is resumed from, and waits for it."""
        if world.rank == 0:
            self._prepared.checkpoints.finish()
            self._prepared.checkpoints.save(replace(self._state.snapshot(), stopped=True))

    def validate_if_due(self, world: World) -> None:
        """Computes and judges the validation loss of the last step, unless that is done already. Collective."""
        every, progress = self._stop.validate_every_steps, self._state.progress
        if not every or not progress.step or progress.step % every or progress.is_validated:
            return
        loss = validation_loss(self._prepared, world)
        progress.judge(loss, self._stop.patience)
        self._log.add_validation(progress, loss, world.rank)

    def give_memory_back_if_scarce(self) -> None:
        """Returns unused memory to the system where the process nears the node's limit."""
        if self._state.progress.step % MEMORY_EVERY_STEPS == 0:
            resident = resident_bytes()
            if is_scarce(resident, available_bytes(resident)):
                give_back()
