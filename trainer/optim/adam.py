"""Adam (Kingma and Ba, 2015) on a list of parameters, with all of its state in the open.

Gluon's Trainer makes its state with the first update and counts updates per parameter; a rank that joins late needs
both before. Here they are two lists of arrays and one number, so they can be broadcast, saved and restored exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mxnet as mx

from trainer.model import kernels

SLICE = 2**16


class Adam:
    """Updates `parameters` (Gluon Parameters, float32) in place from their gradients."""

    def __init__(self, parameters: Sequence[Any], beta1: float, beta2: float, epsilon: float) -> None:
        self._parameters = list(parameters)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon
        self.updates = 0
        self.means = [mx.nd.zeros_like(parameter.data()) for parameter in self._parameters]
        self.variances = [mx.nd.zeros_like(parameter.data()) for parameter in self._parameters]

    def update(self, learning_rate: float, scale: float) -> None:
        """One update with the gradients times `scale`; bias correction as in the paper's section 2."""
        self.updates += 1
        correction = math.sqrt(1 - self._beta2**self.updates) / (1 - self._beta1**self.updates)
        rates = {
            "lr": learning_rate * correction,
            "beta1": self._beta1,
            "beta2": self._beta2,
            "epsilon": self._epsilon,
            "rescale_grad": scale,
        }
        weights = [parameter.data() for parameter in self._parameters]
        gradients = [parameter.grad() for parameter in self._parameters]
        if weights[0].context.device_type == "cpu" and kernels.load():
            arrays = [*weights, *gradients, *self.means, *self.variances]
            mx.nd.centavo_adam(*arrays, parameters=len(weights), **rates)
            return
        for weight, *others in zip(weights, gradients, self.means, self.variances, strict=True):
            mx.nd.adam_update(weight, *others, out=weight, wd=0.0, **rates)


def global_norm(arrays: Sequence[Any]) -> float:
    """The Euclidean norm of all `arrays` together; it waits for them.

    MXNet adds an array's squares up one after another in float32, which loses a hundredth of 64 MiB; of slices it loses
    nothing to speak of.
    """
    squares = 0.0
    for array in arrays:
        flat = array.reshape(-1)
        slices = [flat[start : start + SLICE] for start in range(0, flat.size, SLICE)]
        squares += float(mx.nd.multi_sum_sq(*slices, num_arrays=len(slices)).astype("float64").sum().asscalar())
    return math.sqrt(squares)
