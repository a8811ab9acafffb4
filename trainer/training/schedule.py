"""What happens between two steps every now and then: commits, checkpoints, validations, giving memory back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from trainer.elastic.world import World
from trainer.model.allocation import give_back
from trainer.node.memory import available_bytes, is_scarce, resident_bytes
from trainer.record.train_log import TrainLog
from trainer.training.measuring.validation import validate
from trainer.training.prepare import Prepared
from trainer.training.state import TrainingState

MEMORY_EVERY_STEPS = 5
BETWEEN_ASKED_S = 10.0
"""The least time between two checkpoints that ranks ask for."""


class Schedule:
    """Knows what is due after a step, and does it."""

    def __init__(self, prepared: Prepared, state: TrainingState, log: TrainLog) -> None:
        self._prepared, self._state, self._log = prepared, state, log
        self._stop, self._checkpoint = prepared.settings.stop, prepared.settings.checkpoint
        self._commit_every_steps = prepared.settings.elastic.commit_every_steps
        self._checkpointed_at = time.monotonic()
        self._asked_at = -math.inf

    def keep_if_due(self, world: World, *, is_asked: bool = False) -> None:
        """Commits the state, and lets rank 0 write a checkpoint in the background.

        No checkpoint is written after a skipped update: many of them in a row would push out the last good one. Of
        several that ranks ask for within a few seconds, as when the whole fleet is taken back, one is written.

        Args:
            world: The ranks that train together.
            is_asked: Whether a rank asks for a checkpoint. All ranks know the same.
        """
        step, settings = self._state.progress.step, self._checkpoint
        by_steps = settings.every_steps is not None and step % settings.every_steps == 0
        minutes = settings.every_minutes
        by_time = minutes is not None and time.monotonic() - self._checkpointed_at >= minutes * 60
        by_request = is_asked and self._is_time_for_asked()
        is_kept = world.rank == 0 and (by_steps or by_time or by_request) and not self._state.progress.skipped_in_a_row
        if step % self._commit_every_steps == 0 or by_steps or by_request or is_kept:
            self._state.commit()
        if is_kept:
            self._checkpointed_at = time.monotonic()
            self._prepared.checkpoints.save_in_background(self._state.committed)  # one copy serves both

    def _is_time_for_asked(self) -> bool:
        now = time.monotonic()
        if now - self._asked_at < BETWEEN_ASKED_S:
            return False
        self._asked_at = now
        return True

    def keep_for_stop(self, world: World) -> None:
        """Lets rank 0 write the checkpoint that a stopped training is resumed from, and waits for it."""
        if world.rank == 0:
            self._prepared.checkpoints.finish()
            self._prepared.checkpoints.save(replace(self._state.snapshot(), stopped=True))

    def validate_if_due(self, world: World, shares: Sequence[float], meet: Callable[[], None]) -> None:
        """Measures and judges the model of the last step, unless that is done already. Collective.

        Args:
            world: The ranks that train together.
            shares: The share of each rank.
            meet: What all ranks do together while they translate; see `validate`.
        """
        every, progress = self._stop.validate_every_steps, self._state.progress
        if not every or not progress.step or progress.step % every or progress.is_validated:
            return
        found = validate(self._prepared, world, shares, meet)
        is_best = progress.judge(found, self._stop.patience, self._checkpoint.keep_best)
        self._log.add_validation(progress, found, world.rank)
        if is_best:
            self._keep_best(world)

    def _keep_best(self, world: World) -> None:
        """Lets rank 0 write a checkpoint of the model that was just validated.

        It replaces one that is not among the best any more. So no rank may go back to before it: all commit.
        """
        self._state.commit()
        if world.rank == 0:
            self._prepared.checkpoints.save_best_in_background(replace(self._state.committed, is_best=True))

    def give_memory_back_if_scarce(self) -> None:
        """Returns unused memory to the system where the process nears the node's limit."""
        if self._state.progress.step % MEMORY_EVERY_STEPS == 0:
            resident = resident_bytes()
            if is_scarce(resident, available_bytes(resident)):
                give_back()
