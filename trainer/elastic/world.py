"""Horovod Elastic for MXNet: ranks join and leave between two steps, and a lost rank costs the steps since a commit.

Horovod 0.28.1 ships no `horovod.mxnet.elastic`. Some of its habits are worked around here:

- A rank that is no longer wanted learns it inside `hvd.init()` and aborts. Here it asks the rendezvous server for its
  slot first (the same question, asked once), and either leaves cleanly or hands the answer to `hvd.init()` in the
  environment, with HOROVOD_ELASTIC=0 so that it is not asked again: each question counts as a vote for the next round.
- When a rank does not come to the rendezvous, `hvd.init()` aborts all the others. Here the ranks meet first, on the
  same server, where a missing one costs a further round and not the processes.
- Failures of MXNet operators come as MXNetError; they are told apart by their text.
- A cycle time that is set makes another fusion threshold of the default from the second `hvd.init()` of a process on
  (ParameterManager takes the one for the other, horovod/common/parameter_manager.cc), and ranks that fuse other tensors
  than the rest are ended by gloo. So each rank begins with an `hvd.init()` by itself: all have had their first one.
"""

from __future__ import annotations

import http.client
import logging
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import horovod.mxnet as hvd
import mxnet as mx
from horovod.common.elastic import notification_manager
from horovod.common.exceptions import HorovodInternalError

from trainer.optim.gradient_buckets import grouped

log = logging.getLogger(__name__)

MEETING_TIMEOUT_S = 20.0
SLOT_TIMEOUT_S = 900.0
POLL_S = 0.02
_SIGNS_OF_LOSS = ("horovod", "gloo", "connection", "shut down", "timed out", "timeout", "pair closure")
_SLOT_VARIABLES = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class RemovedFromJobError(Exception):
    """This rank's host is no longer part of the training: leave, with exit code 0."""


class MembershipChanged(Exception):  # noqa: N818 - no error, the way out of the step loop
    """All ranks have agreed, between two steps, to make a new world."""


class WorldLostError(Exception):
    """A rank is gone without notice: go back to the last commit and make a new world."""


class LauncherLostError(RuntimeError):
    """The rendezvous server does not answer any more: there is no job to be part of."""


@contextmanager
def translating_failures() -> Iterator[None]:
    """Turn the ways in which Horovod reports a lost rank into WorldLostError; other errors pass."""
    try:
        yield
    except HorovodInternalError as error:
        raise WorldLostError(str(error)) from error
    except mx.base.MXNetError as error:
        if any(sign in str(error).lower() for sign in _SIGNS_OF_LOSS):
            raise WorldLostError(str(error).strip().splitlines()[-1]) from error
        raise


def drain_engine() -> None:
    """Wait for MXNet's engine; each array that a failed operation has poisoned raises once, and is passed over."""
    for _ in range(10_000):
        try:
            mx.nd.waitall()
            return
        except mx.base.MXNetError:
            continue


def has_nccl() -> bool:
    """Whether this Horovod was built with NCCL."""
    return bool(hvd.nccl_built())


class Rendezvous:
    """The launcher's HTTP server, as one rank speaks to it."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        address, port = (environment[f"HOROVOD_GLOO_RENDEZVOUS_{part}"] for part in ("ADDR", "PORT"))
        self._url = f"http://{address}:{port}"

    def take_slot(self) -> None:
        """Ask for this host's slot in the next world, which waits until all ranks have asked, and keep the answer.

        Raises RemovedFromJobError when there is none, LauncherLostError when the server is gone.
        """
        host, local_rank = self._environment["HOROVOD_HOSTNAME"], self._environment["HOROVOD_LOCAL_RANK"]
        answer = self._request("GET", f"rank_and_size/{host}:{local_rank}", timeout_s=SLOT_TIMEOUT_S)
        values = (answer or b"").decode().split(",")
        if len(values) != len(_SLOT_VARIABLES):
            raise LauncherLostError(f"the rendezvous server gave no slot: {answer!r}")
        if values[0] == "-1":
            raise RemovedFromJobError(host)
        self._environment.update(
            {f"HOROVOD_{name}": value for name, value in zip(_SLOT_VARIABLES, values, strict=True)}
        )

    def meet(self) -> bool:
        """Wait until every rank of the new world is there. False when one stayed away: take a slot again.

        Rank 0 alone decides, so that all ranks do the same.
        """
        rank, size = (int(self._environment[f"HOROVOD_{name}"]) for name in ("RANK", "SIZE"))
        self._request("PUT", f"meeting/{rank}", b"here")
        if rank == 0:
            complete = all(self._await(f"meeting/{other}", _deadline(MEETING_TIMEOUT_S)) for other in range(1, size))
            self._request("PUT", "meeting/verdict", b"complete" if complete else b"again")
            return complete
        return self._await("meeting/verdict", _deadline(2 * MEETING_TIMEOUT_S)) == b"complete"

    def _await(self, name: str, deadline: float) -> bytes | None:
        while (value := self._request("GET", name)) is None and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return value

    def _request(self, method: str, name: str, data: bytes | None = None, timeout_s: float = 10.0) -> bytes | None:
        """The answer's body, None where there is nothing by that name. A dropped connection is tried again."""
        request = urllib.request.Request(f"{self._url}/{name}", data=data, method=method)
        for remaining in (2, 1, 0):
            try:
                with _OPENER.open(request, timeout=timeout_s) as answer:
                    return bytes(answer.read())
            except urllib.error.HTTPError as error:
                if error.code == 404:
                    return None
                raise LauncherLostError(f"the rendezvous server refused {name}: {error}") from error
            except (OSError, http.client.HTTPException) as error:
                if not remaining:
                    raise LauncherLostError(f"the rendezvous server at {self._url} does not answer: {error}") from error
                time.sleep(0.2)
        return None


def _deadline(seconds: float) -> float:
    return time.monotonic() + seconds


class _HostUpdates:
    """Hears from the launcher that hosts come or go. The launcher tells rank 0 alone."""

    def __init__(self) -> None:
        self.pending = threading.Event()

    def on_hosts_updated(self, timestamp: int, result: object) -> None:
        """Called by Horovod's notification thread."""
        self.pending.set()


class World:
    """The ranks that train together, as this one sees them; under elastic Horovod they change."""

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        self._environment = environment
        self.is_elastic = environment.get("HOROVOD_ELASTIC") == "1"
        self._rendezvous = Rendezvous(environment) if self.is_elastic else None
        self._updates = _HostUpdates()
        self._is_listening = False

    @property
    def rank(self) -> int:
        """This rank's number, from 0."""
        return int(hvd.rank())

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return int(hvd.size())

    @property
    def is_change_pending(self) -> bool:
        """Whether the launcher has told this rank (which is then rank 0) that hosts come or go."""
        return self._updates.pending.is_set()

    def join(self) -> None:
        """Become a rank of the world that the environment names."""
        if self.is_elastic and "HOROVOD_CYCLE_TIME" in self._environment:
            self._begin_alone()
        if self._rendezvous is not None and not self._rendezvous.meet():
            self._rejoin(self._rendezvous)
            return
        self._start_horovod()

    def reset(self) -> None:
        """Leave the present world and join the next. Raises RemovedFromJobError when this rank has no place in it."""
        if self._rendezvous is None:
            raise WorldLostError("this is no elastic training: a rank that is lost ends it")
        drain_engine()
        hvd.shutdown()
        self._updates.pending.clear()
        self._rejoin(self._rendezvous)

    def listen(self) -> None:
        """Register for the launcher's notices; to be called with every world, does so once."""
        if self.is_elastic and not self._is_listening:
            notification_manager.init()
            notification_manager.register_listener(self._updates)
            self._is_listening = True

    def leave(self) -> None:
        """Close Horovod's connections; the last thing that a rank does."""
        hvd.shutdown()

    def _rejoin(self, rendezvous: Rendezvous) -> None:
        rendezvous.take_slot()
        while not rendezvous.meet():
            log.warning("a rank did not come to the meeting; trying without it")
            rendezvous.take_slot()
        self._start_horovod()

    def _begin_alone(self) -> None:
        """Start Horovod without the variables that name a world, and stop it again; takes some 10 ms."""
        named = {name: value for name, value in self._environment.items() if name.startswith("HOROVOD_")}
        cycle_time = named.pop("HOROVOD_CYCLE_TIME")
        for name in named:
            del self._environment[name]
        log.debug("Horovod is started once before the first world, with a cycle time of %s ms", cycle_time)
        hvd.init()
        hvd.shutdown()
        self._environment.update(named)

    def _start_horovod(self) -> None:
        self._environment["HOROVOD_ELASTIC"] = "0"
        hvd.init()


# hvd.broadcast is not used: Horovod 0.28.1 reads an operation's name once more after having handed the operation over
# (to log it, EnqueueTensorBroadcast in horovod/common/operations.cc), and an operation that is done by then has taken
# its name with it. One training in a hundred died of that. Allgather and allreduce read it before.


def _is_alone() -> bool:
    """Whether there is nobody to exchange anything with."""
    return bool(hvd.size() == 1)


def gather_objects(value: Any, name: str) -> list[Any]:
    """Every rank's `value`, by rank. All ranks call it with the same `name`."""
    return [value] if _is_alone() else list(hvd.allgather_object(value, name=name))


def broadcast_object(value: Any, root: int, name: str) -> Any:
    """The `value` of rank `root`."""
    return gather_objects(value if hvd.rank() == root else None, name)[root]


def broadcast_arrays(arrays: list[Any], root: int, name: str, chunk_elements: int = 16_000_000) -> None:
    """Replace float32 `arrays` by those of rank `root`: by a sum to which the others add zeros.

    They travel together in pieces of `chunk_elements`: an operation per array would cost a negotiation for each.
    """
    if _is_alone():
        return
    for number, group in enumerate(grouped(arrays, lambda array: array.size, chunk_elements)):
        if hvd.rank() == root:
            flat = mx.nd.concat(*[array.reshape((-1,)) for array in group], dim=0)
        else:
            flat = mx.nd.zeros((sum(array.size for array in group),))
        hvd.allreduce_(flat, average=False, name=f"{name}.{number}")
        _spread(flat, group)
    mx.nd.waitall()


def sum_gradients(buckets: list[Any], compression: str) -> None:
    """Replace the float32 arrays that hold the gradients by their sums over the ranks.

    Each takes one negotiation. With `compression` fp16 they travel as float16.
    """
    if _is_alone():
        return
    compressor = hvd.Compression.fp16 if compression == "fp16" else hvd.Compression.none
    for number, bucket in enumerate(buckets):
        tensor, context = compressor.compress(bucket)
        hvd.allreduce_(tensor, average=False, name=f"gradients.{number}", priority=-number)
        if tensor is not bucket:
            bucket[:] = compressor.decompress(tensor, context)


def _spread(flat: Any, arrays: list[Any]) -> None:
    """Replace `arrays` by the parts of `flat`, in order."""
    start = 0
    for array in arrays:
        array[:] = flat[start : start + array.size].reshape(array.shape)
        start += array.size


def sum_vector(values: Any, name: str) -> Any:
    """Sum a float64 NumPy vector over the ranks; waits for it."""
    if _is_alone():
        return values
    tensor = mx.nd.array(values, dtype="float64")
    return hvd.allreduce(tensor, average=False, name=name).asnumpy()
