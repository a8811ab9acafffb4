"""Gradients side by side in a few arrays, in which they travel between the ranks: nothing is copied for the exchange.

These are the buckets of PyTorch's DistributedDataParallel (Li et al. 2020, https://arxiv.org/abs/2006.15704, section
3.2.2). The gradients are views of them.

Gradients of several backward passes are added up here. MXNet's own way is the grad_req "add", with which MXNet 1.9.1
leaves out the gradient of an amp_cast, and lets the operators of a library overwrite theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
from mxnet import autograd

_ALIGNMENT = 16
"""In floats: each gradient begins where a cache line begins."""


class GradientBuckets:
    """The gradients of `parameters` (Gluon Parameters, float32, on one device), in their order.

    A bucket takes gradients up to `limit_mb` (MiB). A larger gradient has a bucket by itself; with 0, each one has.
    Every backward pass overwrites the gradients of the one before. `set_aside` and `take_back` add several passes up.
    """

    def __init__(self, parameters: Sequence[Any], limit_mb: int) -> None:
        self._groups = grouped(parameters, _room, limit_mb * 2**20 // 4)
        self.arrays: list[Any] = []
        """The buckets: float32 vectors."""
        self._aside: list[Any] = []
        self.renew()

    def renew(self) -> None:
        """Puts the gradients into new arrays of zeros. An array that a failed operation has touched always raises."""
        self.arrays = [_lay(group) for group in self._groups]
        self._aside = []

    def clear(self) -> None:
        """Sets all gradients to zero."""
        for array in self.arrays:
            array[:] = 0

    def set_aside(self) -> None:
        """Adds the gradients to those that were set aside before. A second set of buckets holds them."""
        if not self._aside:
            self._aside = [mx.nd.zeros_like(array) for array in self.arrays]
        for total, array in zip(self._aside, self.arrays, strict=True):
            mx.nd.elemwise_add(total, array, out=total)

    def take_back(self) -> None:
        """Replaces the gradients by the sum of those that were set aside since the last call."""
        for total, array in zip(self._aside, self.arrays, strict=True):
            array[:] = total
            total[:] = 0


def grouped(items: Sequence[Any], size_of: Callable[[Any], int], limit: int) -> list[list[Any]]:
    """Returns `items` in their order, in groups whose sizes add up to at most `limit`, or that have one item."""
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
    """Gives `parameters` gradients that are parts of one new array. Returns the array."""
    bucket = mx.nd.zeros((sum(map(_room, parameters)),), ctx=parameters[0].data().context)
    start = 0
    for parameter in parameters:
        value = parameter.data()
        gradient = bucket[start : start + value.size].reshape(value.shape)
        parameter._grad = [gradient]
        autograd.mark_variables([value], [gradient], parameter.grad_req)
        start += _room(parameter)
    return bucket
