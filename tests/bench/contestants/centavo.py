"""Centavo's side of the bench: the trainer's model, its Adam, and Horovod when there are several processes."""

from __future__ import annotations

import time
from typing import Any

import mxnet as mx
import task
from mxnet import autograd

from trainer.model import build as model
from trainer.optim.adam import Adam
from trainer.optim.gradient_buckets import GradientBuckets
from trainer.settings.horovod import DEFAULT_BUCKET_MB
from trainer.settings.model import ModelSettings

ASKED = task.job()


def arrays(step: int, rank: int) -> list[Any]:
    """Returns the batch of a step as the model takes it."""
    source, target = task.batch(ASKED, step, rank)
    lengths = mx.nd.full((len(source),), ASKED["length"])
    return [mx.nd.array(source, dtype="int32"), lengths, mx.nd.array(target, dtype="int32"), lengths + 1]


def main() -> None:
    """Trains the steps that were asked for and reports."""
    settings = ModelSettings(
        preset=ASKED["preset"],
        precision=ASKED["precision"],
        label_smoothing=task.SMOOTHING,
        max_length=ASKED["length"] + 2,
    )
    made = model.build(settings, ASKED["vocabulary"])
    parameters = [parameter for _, parameter in sorted(made.parameters().items())]
    optimizer = Adam(parameters, *task.BETAS, task.EPSILON)
    gradients = GradientBuckets(parameters, DEFAULT_BUCKET_MB)
    rank, exchange = 0, None
    if ASKED["processes"] > 1:
        import horovod.mxnet as hvd

        from trainer.elastic.exchange import sum_gradients

        hvd.init()
        rank, exchange = hvd.rank(), sum_gradients
        mx.random.seed(rank)
    tokens = ASKED["sentences"] * ASKED["length"] * ASKED["processes"]

    def step(number: int) -> Any:
        batch = arrays(number, rank)
        with autograd.record():
            loss, _ = made.loss(*batch)
        loss.backward()
        if exchange is not None:
            exchange(gradients.arrays, "none", tokens)
        optimizer.update(task.LEARNING_RATE, 1.0 / tokens)
        return loss

    for number in range(ASKED["warmup_steps"]):
        step(number)
    mx.nd.waitall()
    began, cpu_began = time.perf_counter(), time.process_time()
    for number in range(ASKED["steps"]):
        loss = step(ASKED["warmup_steps"] + number)
        mx.nd.waitall()
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    if rank == 0:
        task.report(ASKED, seconds, cpu_s, float(loss.asscalar()) / (ASKED["sentences"] * ASKED["length"]))


if __name__ == "__main__":
    main()
