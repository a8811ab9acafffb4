"""Gradients laid side by side in a few arrays, as they travel between the ranks: nothing is copied for the exchange.

The buckets of PyTorch's DistributedDataParallel (Li et al. 2020, https://arxiv.org/abs/2006.15704, section 3.2.2), with
the gradients as views of them.

Gradients of several backward passes are added up here and not by MXNet's grad_req "add", with which MXNet 1.9.1 leaves
the gradient of an amp_cast out, and lets operators of a library overwrite theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
from mxnet import autograd

_ALIGNMENT = 16
"""Floats: a gradient begins where a cache line does."""


class Buckets:
    """Holds the gradients of `parameters` (Gluon Parameters, float32, on one device), in their order.

    A bucket takes gradients until it has `limit_mb` (MiB); a larger gradient has one by itself. With 0, each has.
    Every backward pass overwrites the one before; `set_aside` and `take_back` make sums of several.
    """

    def __init__(self, parameters: Sequence[Any], limit_mb: int) -> None:
        self._groups = grouped(parameters, _room, limit_mb * 2**20 // 4)
        self.arrays: list[Any] = []
        """The buckets: float32 vectors."""
        self._aside: list[Any] = []
        self.renew()

    def renew(self) -> None:
        """Lay the gradients into new arrays of zeros: one that a failed operation has touched raises for ever."""
        self.arrays = [_lay(group) for group in self._groups]
        self._aside = []

    def clear(self) -> None:
        """Set all gradients to zero."""
        for array in self.arrays:
            array[:] = 0

    def set_aside(self) -> None:
        """Add the gradients to those that are set aside already; a second set of buckets is kept for it."""
        if not self._aside:
            self._aside = [mx.nd.zeros_like(array) for array in self.arrays]
        for total, array in zip(self._aside, self.arrays, strict=True):
            mx.nd.elemwise_add(total, array, out=total)

    def take_back(self) -> None:
        """Let the gradients be the sum of all that were set aside since the last time."""
        for total, array in zip(self._aside, self.arrays, strict=True):
            array[:] = total
            total[:] = 0


def grouped(items: Sequence[Any], size_of: Callable[[Any], int], limit: int) -> list[list[Any]]:
    """`items` in their order, in groups whose sizes add up to `limit` at most, or of one item."""
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
    """Give `parameters` gradients that are parts of one new array; returns it."""
    bucket = mx.nd.zeros((sum(map(_room, parameters)),), ctx=parameters[0].data().context)
    start = 0
    for parameter in parameters:
        value = parameter.data()
        gradient = bucket[start : start + value.size].reshape(value.shape)
        parameter._grad = [gradient]
        autograd.mark_variables([value], [gradient], parameter.grad_req)
        start += _room(parameter)
    return bucket
