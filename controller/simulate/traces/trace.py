"""Traces of spot capacity: for a pool (a zone and a type), whether it had capacity at each step."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
_NAME = re.compile(r"([a-z]+-[a-z]+-\d[a-z]?)_(.+)$")


@dataclass(frozen=True)
class Trace:
    """What one pool had.

    Attributes:
        zone: Its zone.
        kind: Its type, as the trace's file names it, for example `v100_1`.
        step_s: The time between two values.
        available: Whether it had capacity, step after step.
    """

    zone: str
    kind: str
    step_s: float
    available: Flags

    @property
    def region(self) -> str:
        """The region of its zone."""
        return self.zone.rstrip("abcdefghijklmnopqrstuvwxyz") if self.zone[-1].isalpha() else self.zone

    def thinned(self, factor: int) -> Trace:
        """Returns the trace with every so many steps as one, which has capacity where all of them have."""
        whole = len(self.available) // factor * factor
        steps = self.available[:whole].reshape(-1, factor).all(axis=1)
        return Trace(self.zone, self.kind, self.step_s * factor, steps)

    def part(self, begin: int, end: int) -> Trace:
        """Returns the steps from one to another, the last one excluded."""
        return Trace(self.zone, self.kind, self.step_s, self.available[begin:end])


def read_trace(path: Path) -> Trace:
    """Reads a trace of the repository skypilot-org/spot-traces: JSON, also compressed.

    Raises:
        ValueError: The file is no such trace.
    """
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    found = _NAME.search(stem)
    try:
        document = json.loads(text)
        values, step_s = np.asarray(document["data"]), float(document["metadata"]["gap_seconds"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no trace of spot capacity: {error!r}") from error
    if found is None or not step_s > 0 or values.ndim != 1:
        raise ValueError(
            f"{path} is no trace of spot capacity: its name ends with a zone and a type, its data is a list"
        )
    return Trace(found[1], found[2], step_s, values > 0)


def read_traces(folder: Path) -> list[Trace]:
    """Reads all traces of a folder, in the order of their names."""
    return [read_trace(path) for path in sorted(folder.glob("*.json*"))]
