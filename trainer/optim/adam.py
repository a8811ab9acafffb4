"""Adam (Kingma and Ba 2015, https://arxiv.org/abs/1412.6980) on a list of parameters.

Gluon's Trainer makes its state with the first update, and counts the updates of each parameter. A rank that joins late
needs both before. Here the state is two lists of arrays and a number, which are broadcast, saved and restored exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mxnet as mx

from trainer.model.kernels import library


class Adam:
    """Updates `parameters` (Gluon Parameters, float32) in place by their gradients."""

    def __init__(self, parameters: Sequence[Any], beta1: float, beta2: float, epsilon: float) -> None:
        self._parameters = list(parameters)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon
        self.updates = 0
        self.means = [mx.nd.zeros_like(parameter.data()) for parameter in self._parameters]
        self.variances = [mx.nd.zeros_like(parameter.data()) for parameter in self._parameters]

    def update(self, learning_rate: float, scale: float) -> None:
        """Makes one update by the gradients times `scale`. Bias is corrected as in section 2 of the paper."""
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
        if weights[0].context.device_type == "cpu" and library.load():
            arrays = [*weights, *gradients, *self.means, *self.variances]
            mx.nd.centavo_adam(*arrays, parameters=len(weights), **rates)
            return
        for weight, *others in zip(weights, gradients, self.means, self.variances, strict=True):
            mx.nd.adam_update(weight, *others, out=weight, wd=0.0, **rates)
