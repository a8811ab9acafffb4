"""Noticing that a training has diverged: many updates in a row are skipped, or parameters are not finite numbers."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from trainer.elastic.exchange import sum_vector
from trainer.elastic.world import World
from trainer.record.progress import Progress
from trainer.training.errors import TrainingFailedError
from trainer.training.measuring.validation import are_finite, probe_loss
from trainer.training.prepare import Prepared


def check_skipped(prepared: Prepared, world: World, progress: Progress, fault: str) -> None:
    """Raises TrainingFailedError where parameters are broken, or too many updates in a row were skipped. Collective.

    After the first of several skipped updates, the loss on other sentences tells a bad batch from broken parameters.

    Args:
        prepared: The training.
        world: The ranks that train together.
        progress: How far the training is. The update of its last step was skipped.
        fault: Why that update was skipped.
    """
    count = progress.skipped_in_a_row
    updated_at = progress.step - count
    if count == 1 and not math.isfinite(sum_vector(np.array([probe_loss(prepared)]), "probe")[0]):
        _fail(prepared, world, updated_at, f"{fault} at step {progress.step}")
    if count >= prepared.settings.optimizer.max_skipped_in_a_row:
        what = f"{fault} at step {progress.step}, and no update could be made since step {updated_at} ({count} skipped)"
        _fail(prepared, world, updated_at, what)


def check_parameters(prepared: Prepared, world: World, steps_made: int) -> None:
    """Raises TrainingFailedError where the last update has made parameters that are not finite: no loss shows it."""
    if not are_finite(prepared.parameters.values()):
        _fail(prepared, world, steps_made, f"some parameters are not finite numbers after step {steps_made}")


def _fail(prepared: Prepared, world: World, steps_made: int, what: str) -> NoReturn:
    """Raises TrainingFailedError, which names the last checkpoint that can be used.

    A checkpoint of the very parameters that failed is removed: a training that continued from it would end here again.
    """
    checkpoints = prepared.checkpoints
    checkpoints.finish()
    if world.rank == 0:
        checkpoints.discard_from(steps_made)
    good = checkpoints.latest_before(steps_made)
    advice = "start again" if good is None else f"continue (--resume) from the last good checkpoint, {good}"
    settings = prepared.settings
    compression = ", or set horovod.compression to none" if settings.horovod.compression != "none" else ""
    raise TrainingFailedError(
        f"{what}: lower optimizer.learning_rate ({settings.optimizer.learning_rate}) or set clip_norm{compression}, "
        f"and {advice}"
    )
