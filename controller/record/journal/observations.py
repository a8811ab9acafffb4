"""The observations of a run: whole, and each in a few numbers."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator

from controller.domain import SECONDS_PER_HOUR, Fleet, Observation
from controller.record.journal import codec, summary
from controller.record.journal.table import Table

_RECENT = """
SELECT id FROM (
    SELECT id, at, row_number() OVER (PARTITION BY fleet ORDER BY at DESC, id DESC) AS place FROM summaries)
WHERE place <= ? ORDER BY at, id
"""


class ObservationTable(Table):
    """The tables `observations` and `summaries`, which have a row each for every observation."""

    _read: dict[int, Observation]
    """The observations that `recent` has read, by number."""

    def add_observation(self, observation: Observation, usd_per_hour: float) -> None:
        """Keeps an observation, and what the cluster costs an hour at that time, head included."""
        fleet, brief = codec.to_json(observation.fleet), summary.to_plain(summary.summarise(observation, usd_per_hour))
        facts, unknown = codec.to_json(observation.facts), codec.to_json(observation.unknown)
        whole = (observation.at, fleet, facts, unknown, usd_per_hour)
        self._may_write(
            "observations",
            ("INSERT INTO observations (at, fleet, facts, unknown, usd_per_hour) VALUES (?, ?, ?, ?, ?)", whole),
            (
                "INSERT INTO summaries VALUES (last_insert_rowid(), ?, ?, ?, ?)",
                (observation.at, usd_per_hour, fleet, codec.to_json(brief)),
            ),
        )

    def observations(self, since: float = 0.0) -> tuple[Observation, ...]:
        """Returns the observations since a time, oldest first."""
        rows = self._database.execute("SELECT * FROM observations WHERE at >= ? ORDER BY at, id", (since,))
        return tuple(_observation(row) for row in rows)

    def recent(self, per_fleet: int) -> tuple[Observation, ...]:
        """Returns the last observations of each fleet that was seen, oldest first.

        Only what was added since the last call is read: an observation of a thousand nodes takes a hundredth of a
        second to read.
        """
        numbers = [row["id"] for row in self._database.execute(_RECENT, (per_fleet,))]
        self._read = {number: self._read.get(number) or self._observation(number) for number in numbers}
        return tuple(self._read.values())

    def summaries(self, after: int = 0) -> Iterator[tuple[int, summary.Summary]]:
        """Yields the number of each observation after a number, and the observation in a few numbers; oldest first."""
        for row in self._database.execute("SELECT * FROM summaries WHERE id > ? ORDER BY id", (after,)):
            fleet, plain = Fleet(json.loads(row["fleet"])), json.loads(row["summary"])
            yield row["id"], summary.from_plain(row["at"], fleet, row["usd_per_hour"], plain)

    def spent_usd(self, until: float | None = None) -> float:
        """Returns the cost of the cluster, integrated over the observations.

        Args:
            until: The time up to which the cost is counted; the last observation before it holds until then. Without
                it, the cost is counted up to the last observation.
        """
        spent, previous = 0.0, None
        latest = math.inf if until is None else until
        rows = self._database.execute("SELECT at, usd_per_hour FROM summaries WHERE at <= ? ORDER BY at, id", (latest,))
        for row in rows:
            if previous is not None:
                spent += (row["at"] - previous["at"]) * previous["usd_per_hour"] / SECONDS_PER_HOUR
            previous = row
        if previous is not None and until is not None:
            spent += max(0.0, until - previous["at"]) * previous["usd_per_hour"] / SECONDS_PER_HOUR
        return float(spent)

    def _observation(self, number: int) -> Observation:
        return _observation(self._database.execute("SELECT * FROM observations WHERE id = ?", (number,)).fetchone())


def _observation(row: sqlite3.Row) -> Observation:
    return Observation(
        row["at"],
        Fleet(json.loads(row["fleet"])),
        codec.facts_from_json(row["facts"]),
        codec.unknown_from_json(row["unknown"]),
    )
