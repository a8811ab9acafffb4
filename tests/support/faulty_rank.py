"""The trainer's command line with faults in some ranks: `python faulty_rank.py FAULTS ARGUMENTS...`.

FAULTS is a JSON list of `{"rank": 1, "step": 7, "what": "parameters"}`. Gradients become faulty before they are
exchanged in that step, a collective fails in it, and parameters or the optimizer are wrong after it. "dies translating"
ends the process after the first batch of sentences that it translates after the step. The trainer itself has no such
door.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np

from trainer import cli
from trainer.elastic.world import World
from trainer.inference.translate import translated_batches
from trainer.training import step
from trainer.training.measuring import translating
from trainer.training.step import Asked, TakenStep, TrainingStep

FAULTS = json.loads(sys.argv.pop(1))
take, sum_gradients, sum_vector = TrainingStep.take, step.sum_gradients, step.sum_vector
steps: list[int] = []


def is_due(what: str) -> bool:
    return {"rank": int(os.environ["HOROVOD_RANK"]), "step": steps[-1], "what": what} in FAULTS


def take_and_harm(self: TrainingStep, world: World, steps_made: int, asked: Asked) -> TakenStep:
    steps.append(steps_made + 1)
    taken = take(self, world, steps_made, asked)
    if is_due("parameters"):
        self._adam._parameters[0].data()[:] = 0.25
    if is_due("broken parameters"):
        self._adam._parameters[0].data()[:] = np.nan
    if is_due("optimizer"):
        self._adam.variances[-1][:] = 7.0
    return taken


def harm_and_sum(buckets: list[Any], *others: Any) -> None:
    if is_due("gradients"):
        buckets[0][5:6] = np.nan
    sum_gradients(buckets, *others)


def translate_or_die(*values: Any) -> Iterator[dict[int, str]]:
    for batch in translated_batches(*values):
        if is_due("dies translating"):
            os._exit(9)
        yield batch


def fail_or_sum(*values: Any) -> Any:
    if is_due("collective"):
        raise mx.base.MXNetError("Horovod has been shut down. This was caused by a test.")
    return sum_vector(*values)


TrainingStep.take = take_and_harm
translating.translated_batches = translate_or_die
step.sum_gradients, step.sum_vector = harm_and_sum, fail_or_sum
sys.exit(cli.main())
