"""The launcher's rendezvous server, as one rank speaks to it over HTTP.

Two habits of Horovod 0.28.1 are worked around here:

- A rank that is no longer part of the job learns it inside `hvd.init()`, and aborts. Here the rank asks the server for
  its slot first. It is the question that `hvd.init()` would ask, and it is asked once only, since each question counts
  as a vote for the next world.
- When a rank does not come to the rendezvous, `hvd.init()` aborts all the others. Here the ranks meet on the server
  first. A missing rank then costs one more round, and no process.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import MutableMapping

from trainer.elastic.errors import LauncherLostError, LostItsPlaceError, RemovedFromJobError

MEETING_TIMEOUT_S = 20.0
SLOT_TIMEOUT_S = 900.0
PROBE_TIMEOUT_S = 3.0
POLL_S = 0.02
ATTEMPTS = 3
RETRY_S = 0.2
_SLOT_VARIABLES = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Rendezvous:
    """A client of the server. `environment` holds Horovod's variables, and is where a slot is written to."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        address, port = (environment[f"HOROVOD_GLOO_RENDEZVOUS_{part}"] for part in ("ADDR", "PORT"))
        self._url = f"http://{address}:{port}"  # under our launcher the address ends in a secret: it is in no message
        self._server = address.partition("/")[0]

    def take_slot(self) -> None:
        """Asks for this host's slot in the next world and keeps it in the environment.

        The server answers when all ranks have asked.

        Raises:
            RemovedFromJobError: There is no slot for this host, and none is to come.
            LostItsPlaceError: This host has been let go, and may come back with a new worker.
            LauncherLostError: The server is gone.
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
        """Waits until every rank of the new world is there. Rank 0 alone decides, so that all ranks do the same.

        Returns:
            Whether all ranks have come. If not, the rank takes a slot again.
        """
        rank, size = (int(self._environment[f"HOROVOD_{name}"]) for name in ("RANK", "SIZE"))
        self._request("PUT", f"meeting/{rank}", b"here")
        if rank == 0:
            complete = all(self._await(f"meeting/{other}", _deadline(MEETING_TIMEOUT_S)) for other in range(1, size))
            self._request("PUT", "meeting/verdict", b"complete" if complete else b"again")
            return complete
        return self._await("meeting/verdict", _deadline(2 * MEETING_TIMEOUT_S)) == b"complete"

    def is_there(self) -> bool:
        """Returns whether the server answers."""
        try:
            self._request("GET", "meeting/verdict", timeout_s=PROBE_TIMEOUT_S)
        except LauncherLostError:
            return False
        return True

    def _await(self, name: str, deadline: float) -> bytes | None:
        while (value := self._request("GET", name)) is None and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return value

    def _request(self, method: str, name: str, data: bytes | None = None, timeout_s: float = 10.0) -> bytes | None:
        """Returns the answer's body, or None where there is nothing by that name. A lost connection is tried again."""
        request = urllib.request.Request(f"{self._url}/{name}", data=data, method=method)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with _OPENER.open(request, timeout=timeout_s) as answer:
                    return bytes(answer.read())
            except urllib.error.HTTPError as error:
                if error.code == 404:
                    return None
                if error.code == 410:
                    raise LostItsPlaceError("the other ranks went on without this one") from error
                raise LauncherLostError(f"the rendezvous server refused {name}: {error}") from error
            except (OSError, http.client.HTTPException) as error:
                if attempt == ATTEMPTS:
                    raise LauncherLostError(
                        f"the rendezvous server at {self._server} does not answer: {error}"
                    ) from error
                time.sleep(RETRY_S)
        return None


def _deadline(seconds: float) -> float:
    return time.monotonic() + seconds
