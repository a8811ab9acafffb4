"""Gradients laid side by side in a few arrays, as they travel between the ranks: nothing is copied for the exchange.

The buckets of PyTorch's DistributedDataParallel (Li et al. 2020, https://arxiv.org/abs/2006.15704, section 3.2.2), with
the gradients as views of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
from mxnet import autograd

_ALIGNMENT = 16
"""Floats: a gradient begins where a cache line does."""


class Buckets:
    """Holds the gradients of ``parameters`` (Gluon Parameters, float32, on one device), in their order.

    A bucket takes gradients until it has ``limit_mb`` (MiB); a larger gradient has one by itself. With 0, each has.
    """

    def __init__(self, parameters: Sequence[Any], limit_mb: int) -> None:
        self._groups = grouped(parameters, _room, limit_mb * 2**20 // 4)
        self.arrays: list[Any] = []
        """The buckets: float32 vectors."""
        self.renew()

    def renew(self) -> None:
        """Lay the gradients into new arrays of zeros: one that a failed operation has touched raises for ever."""
        self.arrays = [_lay(group) for group in self._groups]

    def clear(self) -> None:
        """Set all gradients to zero."""
        for array in self.arrays:
            array[:] = 0


def grouped(items: Sequence[Any], size_of: Callable[[Any], int], limit: int) -> list[list[Any]]:
    """``items`` in their order, in groups whose sizes add up to ``limit`` at most, or of one item."""
    groups: list[list[Any]] = []
    filled = limit
    for item in items:
        if filled + size_of(item) > limit:
            groups.append([])
            filled = 0
        groups[-1].append(item)
        filled += size_of(item)
    return groups


def _room(parameter: Any) -> int:
    size = int(parameter.data().size)
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _lay(parameters: list[Any]) -> Any:
    """Give ``parameters`` gradients that are parts of one new array; returns it."""
    bucket = mx.nd.zeros((sum(map(_room, parameters)),), ctx=parameters[0].data().context)
    start = 0
    for parameter in parameters:
        value = parameter.data()
        gradient = bucket[start : start + value.size].reshape(value.shape)
        parameter._grad = [gradient]
        autograd.mark_variables([value], [gradient], parameter.grad_req)
        start += _room(parameter)
    return bucket
