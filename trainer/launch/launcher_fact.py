"""The launcher's fact: what it does, and which hosts it has dropped. `launcher.schema.json` describes each field."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from trainer.files.atomic import write_atomically
from trainer.launch.nodes import Dropped
from trainer.node.fact import timestamp

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
FILE_NAME = "launcher.fact"
INTERVAL_S = 5.0
LONGEST_REASON = 2000

Doing = Literal["waiting", "training", "fetching", "ended"]


@dataclass(frozen=True)
class LauncherFact:
    """What the launcher says about itself.

    Attributes:
        state: waiting for nodes, training, fetching the results, or ended.
        reason: What went wrong last, in words for a person; None where nothing did.
        attempt: The number of the attempt, from 1; 0 before the first.
        step: The highest step that any rank has told.
        hosts: The hosts that train now.
        dropped: The hosts that were let go since their ranks did not go on, and that have not come back.
    """

    state: Doing = "waiting"
    reason: str | None = None
    attempt: int = 0
    step: int = 0
    hosts: Sequence[str] = ()
    dropped: Sequence[Dropped] = field(default=())

    def to_json(self, now: float) -> str:
        """Returns the fact as one JSON object. `now` is in seconds since the epoch."""
        dropped = [
            {**asdict(one), "at": timestamp(one.at), "again_at": timestamp(one.again_at)} for one in self.dropped
        ]
        document = {"schema": SCHEMA_VERSION, **asdict(self), "hosts": sorted(self.hosts), "dropped": dropped}
        document["reason"] = None if self.reason is None else self.reason[:LONGEST_REASON]
        return json.dumps({**document, "updated_at": timestamp(now)})


class LauncherFactWriter:
    """Writes the fact at once where it changes, and otherwise every few seconds.

    An old fact means that the launcher does not run or hangs.
    """

    def __init__(self, directory: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = directory.expanduser() / FILE_NAME, clock
        self._written_at: float | None = None
        self._problem: str | None = None
        self.fact = LauncherFact()

    def update(self, **changes: object) -> None:
        """Changes the fact, and writes it if it is time. A fact that cannot be written ends no training."""
        fact = replace(self.fact, **changes)  # type: ignore[arg-type]
        now = self._clock()
        is_new = replace(fact, step=self.fact.step) != self.fact
        is_due = self._written_at is None or not 0 <= now - self._written_at < INTERVAL_S
        self.fact = fact
        if is_new or is_due:
            self._write(now)

    def _write(self, now: float) -> None:
        self._written_at = now
        try:
            write_atomically(self._path, self.fact.to_json(now) + "\n", readable_by_all=True)
            self._problem = None
        except OSError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                log.error("%s cannot be written: %s; the training goes on", self._path, error)
