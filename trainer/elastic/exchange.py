"""What the ranks of a world exchange: objects, vectors, gradients and the state. All functions are collective.

`hvd.broadcast` is not used. Horovod 0.28.1 reads an operation's name after it has handed the operation over (to log it,
EnqueueTensorBroadcast in horovod/common/operations.cc), and an operation that is done by then has taken its name with
it. One training in a hundred died of that. Allgather and allreduce read the name before.
"""

from __future__ import annotations

import math
from typing import Any

import horovod.mxnet as hvd
import mxnet as mx

from trainer.optim.gradient_buckets import grouped

CHUNK_ELEMENTS = 16_000_000
MEAN_SCALE = 2.0**10
"""What the mean gradient of a token is multiplied with before it travels as float16.

Elements of a mean gradient that are below 63 then fit into float16 (65,504 at most), and those above 6e-8 keep all of
its digits. An element that does not fit becomes infinite, and the update is skipped.
"""


def has_nccl() -> bool:
    """Returns whether this Horovod was built with NCCL."""
    return bool(hvd.nccl_built())


def gather_objects(value: Any, name: str) -> list[Any]:
    """Returns every rank's `value`, by rank. All ranks call it with the same `name`."""
    return [value] if _is_alone() else list(hvd.allgather_object(value, name=name))


def broadcast_object(value: Any, root: int, name: str) -> Any:
    """Returns the `value` of rank `root`."""
    return gather_objects(value if hvd.rank() == root else None, name)[root]


def broadcast_arrays(arrays: list[Any], root: int, name: str) -> None:
    """Replaces float32 `arrays`, of any shapes, by those of rank `root`: by a sum to which the others add zeros.

    The arrays travel together in pieces of `CHUNK_ELEMENTS`, since each operation costs a negotiation.
    """
    if _is_alone():
        return
    for number, group in enumerate(grouped(arrays, lambda array: array.size, CHUNK_ELEMENTS)):
        if hvd.rank() == root:
            flat = mx.nd.concat(*[array.reshape((-1,)) for array in group], dim=0)  # (elements of the group,)
        else:
            flat = mx.nd.zeros((sum(array.size for array in group),))
        hvd.allreduce_(flat, average=False, name=f"{name}.{number}")
        _spread(flat, group)
    mx.nd.waitall()


def sum_gradients(buckets: list[Any], compression: str, most_tokens: int) -> None:
    """Replaces the gradients by their sums over the ranks.

    Args:
        buckets: float32 vectors that hold the gradients, summed over this rank's tokens. Each takes one negotiation.
        compression: "fp16": they travel as float16, scaled by `scale_of`; "none": as they are.
        most_tokens: The most tokens of all ranks in one step. It is the same on all ranks.
    """
    if _is_alone():
        return
    scale = scale_of(most_tokens)
    for number, bucket in enumerate(buckets):
        tensor = (bucket * scale).astype("float16") if compression == "fp16" else bucket
        hvd.allreduce_(tensor, average=False, name=f"gradients.{number}", priority=-number)
        if tensor is not bucket:
            bucket[:] = tensor.astype("float32") / scale


def exchanged_bytes(buckets: list[Any], compression: str) -> int:
    """Returns how many bytes these gradients have as `sum_gradients` hands them to the ring."""
    return sum(int(bucket.size) for bucket in buckets) * (2 if compression == "fp16" else 4)


def scale_of(most_tokens: int) -> float:
    """Returns what sums over up to `most_tokens` tokens are multiplied with, so that they fit into float16.

    It is a power of two: scaling there and back changes no digit of a float32. Without it, a large batch overflows:
    a sum grows with the number of tokens, and their mean does not.
    """
    return float(MEAN_SCALE / 2.0 ** math.ceil(math.log2(max(1, most_tokens))))


def sum_vector(values: Any, name: str) -> Any:
    """Returns the sum over the ranks of a float64 NumPy vector. Waits for it."""
    if _is_alone():
        return values
    tensor = mx.nd.array(values, dtype="float64")
    return hvd.allreduce(tensor, average=False, name=name).asnumpy()


def _is_alone() -> bool:
    return bool(hvd.size() == 1)


def _spread(flat: Any, arrays: list[Any]) -> None:
    """Replaces `arrays` by the parts of the vector `flat`, in their order."""
    start = 0
    for array in arrays:
        array[:] = flat[start : start + array.size].reshape(array.shape)
        start += array.size
