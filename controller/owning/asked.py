"""What a person asks of the controller, wherever it runs: an object in the cluster's bucket (`asked.schema.json`)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from controller.domain.errors import AwsError
from controller.domain.reasons import Reason
from controller.domain.reasons.ending import StopAsked
from controller.domain.times import iso, parse_time
from controller.edges.bucket.objects import ChangedError, Objects
from controller.owning.keys import ASKED

VERSION = 1
STOP = "stop"
MOST_BYTES = 10_000
MOST_NAME = 200
TRIES = 5


@dataclass(frozen=True)
class Asked:
    """What is asked: to end the training of one run now.

    Attributes:
        by: Who asks, as user@host.
        at: When, in seconds since the epoch, by that machine's clock.
    """

    run: str
    by: str
    at: float


def ask_to_stop(objects: Objects, asked: Asked, generation: int) -> None:
    """Asks the controller of a run to end its training. What was asked before is replaced.

    Args:
        objects: Those of the cluster's bucket.
        asked: What is asked.
        generation: That of the lease which is held now.

    Raises:
        AwsError: The bucket can't be reached or written.
    """
    plain = {"version": VERSION, "ask": STOP, "run": asked.run, "by": asked.by, "at": iso(asked.at)}
    content = json.dumps(plain, indent=1).encode() + b"\n"
    for _ in range(TRIES):
        before = objects.head(ASKED)
        try:
            objects.write(ASKED, content, follows=None if before is None else before.etag, generation=generation)
            return
        except ChangedError:
            continue
    raise AwsError(f"{ASKED} in the cluster's bucket changes faster than it can be written.", "Try again in a moment.")


class AskedReader:
    """Reads what is asked, in one call for each look.

    What can't be read, or understood, asks for nothing: the training goes on.

    Args:
        objects: Those of the cluster's bucket.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._etag: str | None = None
        self._asked: Asked | None = None

    def look(self, run: str) -> Reason | None:
        """Returns why the training of this run has to end now; None where nobody asks for that."""
        try:
            kept = self._objects.changed(ASKED, self._etag)
        except AwsError:
            return self._of(run)
        if kept is not None:
            self._etag, self._asked = kept.etag, _asked(kept.content)
        return self._of(run)

    def _of(self, run: str) -> Reason | None:
        asked = self._asked
        return StopAsked(asked.by, asked.at) if asked is not None and asked.run == run else None


def _asked(content: bytes) -> Asked | None:
    """Returns what an object asks; None where it can't be understood."""
    try:
        plain = json.loads(content) if len(content) <= MOST_BYTES else {}
        if plain["version"] != VERSION or plain["ask"] != STOP:
            return None
        return Asked(str(plain["run"]), str(plain["by"])[:MOST_NAME], parse_time(plain["at"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
