"""Noticing that a training has diverged: a loss or parameters that are not finite numbers."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from trainer.elastic.world import World
from trainer.training.errors import TrainingFailedError
from trainer.training.prepare import Prepared


def check_loss(prepared: Prepared, world: World, steps_made: int, loss: float) -> None:
    """Raises TrainingFailedError where the loss of the step after `steps_made` is not finite."""
    if not math.isfinite(loss):
        _fail(prepared, world, steps_made, f"the loss became {loss} at step {steps_made + 1}")


def check_parameters(prepared: Prepared, world: World, steps_made: int) -> None:
    """Raises TrainingFailedError where the last update has made parameters that are not finite: no loss shows it."""
    if not all(np.isfinite(parameter.data().asnumpy()).all() for parameter in prepared.parameters.values()):
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
    raise TrainingFailedError(
        f"{what}: lower optimizer.learning_rate ({prepared.settings.optimizer.learning_rate}) or set clip_norm, "
        f"and {advice}"
    )
