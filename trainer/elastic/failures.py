"""How a lost rank shows: the errors of Horovod and MXNet that mean it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mxnet as mx
from horovod.common.exceptions import HorovodInternalError

from trainer.elastic.errors import WorldLostError

_SIGNS_OF_LOSS = ("horovod", "gloo", "connection", "shut down", "timed out", "timeout", "pair closure")
"""Words in the text of an MXNetError that mean a lost rank: MXNet has no type of its own for it."""


@contextmanager
def translating_failures() -> Iterator[None]:
    """Turns the errors by which Horovod reports a lost rank into WorldLostError. Other errors pass."""
    try:
        yield
    except HorovodInternalError as error:
        raise WorldLostError(str(error)) from error
    except mx.base.MXNetError as error:
        if any(sign in str(error).lower() for sign in _SIGNS_OF_LOSS):
            raise WorldLostError(str(error).strip().splitlines()[-1]) from error
        raise


def drain_engine() -> None:
    """Waits for MXNet's engine. Each array that a failed operation has touched raises once, and is passed over."""
    for _ in range(10_000):
        try:
            mx.nd.waitall()
            return
        except mx.base.MXNetError:
            continue
