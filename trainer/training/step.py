"""One training step of this rank: compute the gradients, exchange them, update the parameters."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import mxnet as mx
from mxnet import autograd

from trainer.data.batch import Batch
from trainer.elastic.exchange import sum_gradients, sum_vector
from trainer.elastic.world import World
from trainer.node.brake import Brake, emulated_core_tokens_per_s
from trainer.node.credits import emulated_credits
from trainer.optim.gradient_norm import global_norm
from trainer.optim.learning_rate import learning_rate
from trainer.record.step_statistics import Iteration
from trainer.record.step_totals import StepShare, StepTotals, Sums
from trainer.training.batch_arrays import arrays_of
from trainer.training.prepare import Prepared


def _target_tokens(parts: Sequence[Batch]) -> int:
    """Returns the target tokens of some parts of a batch."""
    return sum(part.target_tokens for part in parts)


@dataclass(frozen=True)
class Asked:
    """What a rank was asked to do from outside, and tells the others in the next step.

    Attributes:
        stop: Whether it was told to stop the whole training.
        checkpoint: Whether it was told to let a checkpoint be made.
    """

    stop: bool = False
    checkpoint: bool = False


@dataclass(frozen=True)
class ComputedParts:
    """What the forward and backward pass of this rank's parts came to. The gradients lie in their buckets."""

    parts: Sequence[Batch]
    loss_sum: float
    compute_time_s: float

    @property
    def tokens(self) -> int:
        """Target tokens."""
        return _target_tokens(self.parts)

    def share(self, data_wait_s: float, is_change_pending: bool, asked: Asked) -> StepShare:
        """Returns what this rank tells the others about the step."""
        ids = sum(part.ids for part in self.parts)
        padding = sum(part.padding_share * part.ids for part in self.parts)
        sums = Sums(self.loss_sum, self.tokens, ids, padding, data_wait_s, is_change_pending, *astuple(asked))
        return StepShare(sums, self.compute_time_s)


@dataclass(frozen=True)
class TakenStep:
    """A step that all ranks have made together.

    Attributes:
        totals: The totals over all ranks.
        iteration: This rank's own part of the step. Its `iteration_time_s` is the whole step.
        fault: Why the update was skipped, the same on all ranks; None: it was made.
    """

    totals: StepTotals
    iteration: Iteration
    fault: str | None


class TrainingStep:
    """Makes one step after another. The update is the exact mean over all ranks' target tokens."""

    def __init__(self, prepared: Prepared, speed: float | None) -> None:
        settings = prepared.settings
        self._batches, self._model, self._adam = prepared.batches, prepared.model, prepared.adam
        self._gradients, self._optimizer = prepared.gradients, settings.optimizer
        self._last_step = settings.stop.steps
        self._seed, self._compression, self._speed = settings.seed, settings.horovod.compression, speed
        # A sentence longer than a batch is a batch by itself.
        self._credits, self._core_tokens_per_s = emulated_credits(), emulated_core_tokens_per_s()
        self._most_tokens = max(self._batches.batch_tokens, settings.batch.max_tokens) * settings.batch.accumulate

    def take(self, world: World, steps_made: int, asked: Asked) -> TakenStep:
        """Makes the step after `steps_made` others. Collective.

        Args:
            world: The ranks that train together.
            steps_made: The number of steps before this one.
            asked: What this rank was asked to do from outside.
        """
        began = time.perf_counter()
        parts = [part for part in self._batches.next() if part is not None]
        data_wait_s = time.perf_counter() - began
        mx.random.seed(_seed_of_step(self._seed, steps_made, world.rank))
        computed = self.compute(parts)
        sum_gradients(self._gradients.arrays, self._compression, self._most_tokens)
        share = computed.share(data_wait_s, world.is_change_pending, asked)
        totals = StepTotals.from_vector(sum_vector(share.to_vector(world.rank, world.size), "step"), world.size)
        fault = self._update(totals)
        samples = sum(len(part.src) for part in parts)
        iteration = Iteration(time.perf_counter() - began, computed.compute_time_s, samples, computed.tokens)
        return TakenStep(totals, iteration, fault)

    def compute(self, parts: Sequence[Batch]) -> ComputedParts:
        """Computes loss and gradients of this rank's parts, slowed down where a speed is emulated."""
        least_s = _target_tokens(parts) / self._core_tokens_per_s
        with Brake(self._speed, credits=self._credits, least_s=least_s) as brake:
            loss_sum = self._forward_and_backward(parts)
        return ComputedParts(parts, loss_sum, brake.compute_time_s)

    def _forward_and_backward(self, parts: Sequence[Batch]) -> float:
        """Leaves the sum of the parts' gradients in the buckets, and waits for it. Returns the summed loss."""
        if not parts:
            self._gradients.clear()
        loss_sum = 0.0
        for part in parts:
            arrays = arrays_of(part)
            with autograd.record():
                loss, _ = self._model.loss(*arrays)
            loss.backward()
            if len(parts) > 1:
                self._gradients.set_aside()
            loss_sum += float(loss.asscalar())
        if len(parts) > 1:
            self._gradients.take_back()
        mx.nd.waitall()
        return loss_sum

    def _update(self, totals: StepTotals) -> str | None:
        """Updates the parameters by the summed gradients, and waits for it.

        Where the loss or a gradient is not finite, the update is skipped: parameters and optimizer stay as they are,
        and the learning rate does not move on. All ranks decide alike, since all have the same sums.

        Returns:
            Why the update was skipped, or None.
        """
        scale = 1.0 / totals.tokens
        norm = global_norm(self._gradients.arrays) * scale
        if (fault := fault_of(totals.loss, norm)) is not None:
            return fault
        clip = self._optimizer.clip_norm
        if clip is not None and norm > 0:
            scale *= min(1.0, clip / norm)
        rate = learning_rate(self._adam.updates + 1, self._optimizer, self._last_step)
        self._adam.update(rate, scale)
        mx.nd.waitall()
        return None


def fault_of(loss: float, gradient_norm: float) -> str | None:
    """Returns why no update can be made with these numbers, or None."""
    if not math.isfinite(loss):
        return f"the loss became {loss}"
    if not math.isfinite(gradient_norm):
        return f"the norm of the gradients became {gradient_norm}"
    return None


def _seed_of_step(seed: int, step: int, rank: int) -> int:
    """Returns the seed of a step's dropout.

    It depends on seed, step and rank alone, so that a resumed training continues with the same random numbers.
    """
    return (seed * 1_000_003 + step * 8_191 + rank) % 2**31
