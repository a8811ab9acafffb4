"""The index of the cluster's runs in the bucket (`runs.schema.json`): which runs there were, newest first."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from controller.edges.bucket.objects import Objects
from controller.owning.keys import RUNS
from controller.owning.sources import Signature

MOST = 100


@dataclass(frozen=True)
class RunEntry:
    """A run of the cluster. `started_at` is ISO 8601; `status` is as in the report."""

    run: str
    started_at: str
    status: str


def read_runs(objects: Objects) -> tuple[RunEntry, ...]:
    """Returns the runs, newest first. An index that is torn counts as none. Raises AwsError."""
    kept = objects.read(RUNS)
    try:
        raw = json.loads(kept.content) if kept is not None else []
        return tuple(RunEntry(str(one["run"]), str(one["started_at"]), str(one["status"])) for one in raw)
    except (ValueError, TypeError, KeyError):
        return ()


def with_entry(entries: Sequence[RunEntry], entry: RunEntry) -> tuple[RunEntry, ...]:
    """Returns the index with a run's entry, which replaces an earlier one of the run."""
    others = [other for other in entries if other.run != entry.run]
    return tuple(sorted((entry, *others), key=lambda one: (one.started_at, one.run), reverse=True))[:MOST]


class RunsSource:
    """The index, as something that is copied: the bucket's own, with the latest entry of one run."""

    key = RUNS

    def __init__(self, objects: Objects, entry: Callable[[], RunEntry]) -> None:
        self._objects, self._entry = objects, entry

    def signature(self) -> Signature:
        """Returns what changes with the run's status."""
        return (hash(self._entry()),)

    def content(self) -> bytes:
        """Returns the index. Raises AwsError."""
        entries = with_entry(read_runs(self._objects), self._entry())
        return json.dumps([asdict(entry) for entry in entries], indent=1).encode() + b"\n"
