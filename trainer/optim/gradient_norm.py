"""The norm of all gradients together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mxnet as mx

SLICE = 2**16


def global_norm(arrays: Sequence[Any]) -> float:
    """Returns the Euclidean norm of all `arrays` together. Waits for them.

    MXNet adds the squares of an array one after another in float32. For an array of 64 MiB, the result is wrong by a
    hundredth. For slices of `SLICE` elements the error does not matter.
    """
    squares = 0.0
    for array in arrays:
        flat = array.reshape(-1)
        slices = [flat[start : start + SLICE] for start in range(0, flat.size, SLICE)]
        squares += float(mx.nd.multi_sum_sq(*slices, num_arrays=len(slices)).astype("float64").sum().asscalar())
    return math.sqrt(squares)
