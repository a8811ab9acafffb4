"""What the nodes report of themselves over the connections that the launcher has anyway, in one file on the head.

So whoever watches the training asks the head, and not each of hundreds of nodes. A node's own iteration fact stays what
it is: a report is a copy of it. `nodes.schema.json` describes the file, which is packed by gzip.
"""

from __future__ import annotations

import gzip
import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trainer.files.atomic import write_atomically
from trainer.node.fact import timestamp

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
FILE_NAME = "nodes.json.gz"
INTERVAL_S = 2.0
LONGEST_FACT = 8192
"""The most characters of a fact that are passed on: several times what a real one has."""
PACKING = 3
"""How hard gzip tries. More takes more of the head's processor and hardly any bytes less."""


@dataclass(frozen=True)
class Report:
    """What a node has reported last.

    Attributes:
        fact: The content of its iteration fact, as text. It may be anything: readers check it.
        clock: The node's own time, in seconds since the epoch.
        received_at: The head's time when the report came, in seconds since the epoch.
    """

    fact: str
    clock: float
    received_at: float


class Reporting(Protocol):
    """A node that may have reported."""

    @property
    def address(self) -> str: ...
    @property
    def report(self) -> Report | None: ...


def report_of(message: Mapping[str, Any], now: float) -> Report | None:
    """Returns the report in a node's message; None where it is none. A node may send anything."""
    fact, clock = message.get("fact"), message.get("clock")
    if not isinstance(fact, str) or not 0 < len(fact) <= LONGEST_FACT:
        return None
    if isinstance(clock, bool) or not isinstance(clock, (int, float)) or not 0 <= clock <= 2**53:
        return None
    return Report(fact, float(clock), now) if math.isfinite(clock) else None


class ReportsWriter:
    """Writes the reports every few seconds. Where nobody writes any more, each report shows how old it is."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = directory.expanduser() / FILE_NAME, clock
        self._written_at: float | None = None
        self._problem: str | None = None

    def update(self, nodes: Iterable[Reporting]) -> None:
        """Writes the reports of these nodes if it is time. A file that cannot be written ends no training."""
        now = self._clock()
        if self._written_at is not None and 0 <= now - self._written_at < INTERVAL_S:
            return
        self._written_at = now
        try:
            write_atomically(self._path, gzip.compress(_document(nodes, now), PACKING), readable_by_all=True)
            self._problem = None
        except OSError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                log.error("%s cannot be written: %s; the training goes on", self._path, error)


def _document(nodes: Iterable[Reporting], now: float) -> bytes:
    told = {
        node.address: {"fact": report.fact, "clock": report.clock, "received_at": report.received_at}
        for node in nodes
        if (report := node.report) is not None
    }
    return json.dumps({"schema": SCHEMA_VERSION, "updated_at": timestamp(now), "nodes": told}).encode()
