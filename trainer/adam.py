"""Adam (Kingma and Ba, 2015) on a list of parameters, with all of its state in the open.

Gluon's Trainer makes its state with the first update and counts updates per parameter; a rank that joins late needs
both before. Here they are two lists of arrays and one number, so they can be broadcast, saved and restored exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mxnet as mx


class Adam:
    """Updates ``parameters`` (Gluon Parameters, float32) in place from their gradients."""

    def __init__(self, parameters: Sequence[Any], beta1: float, beta2: float, epsilon: float) -> None:
        self._parameters = list(parameters)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon
        self.updates = 0
        self.means = [mx.nd.zeros_like(parameter.data()) for parameter in self._parameters]
        self.variances = [mx.nd.zeros_like(parameter.data()) for parameter in self._parameters]

    def gradients(self) -> list[Any]:
        """The gradient arrays, in the order of the parameters."""
        return [parameter.list_grad()[0] for parameter in self._parameters]

    def update(self, learning_rate: float, scale: float) -> None:
        """One update with the gradients times ``scale``; bias correction as in the paper's section 2."""
        self.updates += 1
        correction = math.sqrt(1 - self._beta2**self.updates) / (1 - self._beta1**self.updates)
        for parameter, mean, variance in zip(self._parameters, self.means, self.variances, strict=True):
            weight = parameter.data()
            mx.nd.adam_update(
                weight,
                parameter.list_grad()[0],
                mean,
                variance,
                out=weight,
                lr=learning_rate * correction,
                beta1=self._beta1,
                beta2=self._beta2,
                epsilon=self._epsilon,
                wd=0.0,
                rescale_grad=scale,
            )


def global_norm(gradients: Sequence[Any]) -> float:
    """The Euclidean norm of all gradients together (unscaled); it waits for them."""
    squares = mx.nd.multi_sum_sq(*gradients, num_arrays=len(gradients))
    return math.sqrt(float(squares.astype("float64").sum().asscalar()))
