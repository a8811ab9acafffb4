"""How a lost rank shows: the errors of Horovod and MXNet that mean it, and how many of them are too many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import mxnet as mx
from horovod.common.exceptions import HorovodInternalError

from trainer.elastic.errors import WorldLostError

_LOSS = re.compile(
    r"^(?:\S*MXNetError: )?"
    r"(?:Horovod has been shut down|Application timeout caused pair closure|"
    r"\[(?:enforce fail at )?\S*/gloo/\S+:\d+\] )",
    re.MULTILINE,
)
"""How the message of an MXNetError that means a lost rank begins.

MXNet has no type of its own for it. There are three messages (Horovod 0.28.1):

- All operations that wait fail with "Horovod has been shut down…" (`SHUT_DOWN_ERROR`, horovod/common/common.h) when its
  thread has ended, as it does when the connection to a rank breaks between two operations.
- An operation that moves data fails with gloo's own message, which begins with the place in gloo's sources
  (`GLOO_ERROR_MSG`, gloo/common/error.h), as in "[…/gloo/transport/tcp/pair.cc:589] Read error […]".
- Where one operation has timed out, gloo closes its other connections. What waits there fails with "Application timeout
  caused pair closure" alone (gloo/transport/tcp/unbound_buffer.cc).

Everything else is an error of the program or of the node, which a new world would not mend.
"""


@contextmanager
def translating_failures() -> Iterator[None]:
    """Turns the errors by which Horovod reports a lost rank into WorldLostError. Other errors pass."""
    try:
        yield
    except HorovodInternalError as error:
        raise WorldLostError(str(error)) from error
    except mx.base.MXNetError as error:
        if _LOSS.search(str(error)):
            raise WorldLostError(str(error).strip().splitlines()[-1]) from error
        raise


class FailureCount:
    """Counts worlds that were lost one after another before any of them made a new step.

    A step counts as new when it is beyond all steps made before. A step that is made again, because the training went
    back to its last commit, is none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._furthest = -1
        self.in_a_row = 0

    def note(self, step: int) -> bool:
        """Notes that a world was lost after `step`. Returns whether the limit is reached."""
        self.in_a_row = self.in_a_row + 1 if step <= self._furthest else 1
        self._furthest = max(self._furthest, step)
        return self.in_a_row >= self._limit


def drain_engine() -> None:
    """Waits for MXNet's engine. Each array that a failed operation has touched raises once, and is passed over."""
    for _ in range(10_000):
        try:
            mx.nd.waitall()
            return
        except mx.base.MXNetError:
            continue
