"""The observations of a run: whole, and each in a few numbers."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator

from controller.domain import SECONDS_PER_HOUR, Fleet, Observation
from controller.domain.prices.bill import NO_LINES, Metered
from controller.record.journal import codec, summary
from controller.record.journal.table import Statement, Table

KEPT_OF_EACH_FLEET = 120
"""So many observations of each fleet stay whole: as many as deciding reads."""
MOST_BYTES = 64 << 20
"""Whole observations take no more, whatever the fleets that were seen. It is a thousand of a thousand nodes."""
FORGOTTEN_AT_ONCE = 5
"""So many whole observations are removed with each one that is added: a pass takes the same time in a long run."""

UNSEEN = "unseen_usd"
"""The value of the table `run` that has what no look has found to be paid by the hour, by line of the bill."""

_RECENT = """
SELECT id FROM (
    SELECT id, at, row_number() OVER (PARTITION BY fleet ORDER BY at DESC, id DESC) AS place FROM observations)
WHERE place <= ? ORDER BY at, id
"""
_FORGET_OF_FLEET = """
DELETE FROM observations WHERE id IN (
    SELECT id FROM (
        SELECT id, at FROM observations WHERE fleet = :fleet ORDER BY at DESC, id DESC LIMIT -1 OFFSET :kept)
    WHERE at < (SELECT coalesce(min(at), 9e99) FROM moves WHERE phase NOT IN ('done', 'rolled_back', 'refused'))
    ORDER BY at, id LIMIT :most)
"""
"""Deciding needs the last observations of each fleet, and a move needs those since it began."""
_FORGET_OLDEST = """
DELETE FROM observations WHERE id IN (SELECT id FROM observations ORDER BY at, id LIMIT :most)
AND (
    SELECT sum(length(facts) + length(unknown) + coalesce(length(credits), 0))
    FROM observations WHERE typeof(facts) = 'blob') > :most_bytes
"""
"""The length of a blob is known without reading it. What older journals have is text, and is left out."""


class ObservationTable(Table):
    """The tables `summaries`, of every observation, and `observations`, of those that are needed whole."""

    _read: dict[int, Observation]
    """The observations that `recent` has returned last, by number."""
    _added: dict[int, Observation]
    """The last observations that were added since then, by number: at most `KEPT_OF_EACH_FLEET`."""

    def add_observation(self, observation: Observation, usd_per_hour: float, paid: Metered = NO_LINES) -> None:
        """Keeps an observation, and what the cluster costs an hour at that time, head included.

        Whole observations that nothing needs any more are removed; their summaries stay.

        Args:
            observation: The observation.
            usd_per_hour: Of the whole cluster.
            paid: What that is made of, and what was paid before this look found it.
        """
        brief = summary.to_plain(summary.summarise(observation, usd_per_hour, paid.usd_per_hour))
        fleet = codec.to_json(observation.fleet)
        facts, unknown = codec.packed(observation.facts), codec.packed(observation.unknown)
        credits = codec.packed(observation.credits) if observation.credits else None
        columns = "id, at, fleet, facts, unknown, usd_per_hour, credits"
        is_kept = self._may_write(
            "observations",
            (
                "INSERT INTO summaries (at, usd_per_hour, fleet, summary) VALUES (?, ?, ?, ?)",
                (observation.at, usd_per_hour, fleet, codec.packed(brief)),
            ),
            (  # summaries are never removed, so that their numbers are not used again
                f"INSERT INTO observations ({columns}) VALUES (last_insert_rowid(), ?, ?, ?, ?, ?, ?)",
                (observation.at, fleet, facts, unknown, usd_per_hour, credits),
            ),
            *self._with_unseen(paid),
            (_FORGET_OF_FLEET, {"fleet": fleet, "kept": KEPT_OF_EACH_FLEET, "most": FORGOTTEN_AT_ONCE}),
            (_FORGET_OLDEST, {"most_bytes": MOST_BYTES, "most": FORGOTTEN_AT_ONCE}),
        )
        if is_kept:
            self._added[self._last_number()] = Observation(
                observation.at, observation.fleet, observation.facts, observation.unknown, credits=observation.credits
            )
            if len(self._added) > KEPT_OF_EACH_FLEET:
                self._added.pop(min(self._added))

    def _with_unseen(self, paid: Metered) -> list[Statement]:
        """Returns what keeps, with an observation, the costs that no look has found to be paid by the hour.

        A controller that begins may not have been told yet what was paid so far, so that a sum never falls.
        """
        known = self.unseen_usd()
        total = dict(known)
        for line, usd in paid.unseen_usd.items():
            total[line] = known.get(line, 0.0) + usd
        for line, usd in paid.so_far_usd.items():
            total[line] = max(known.get(line, 0.0), usd)
        if total == known:
            return []
        return [("INSERT OR REPLACE INTO run VALUES (?, ?)", (UNSEEN, json.dumps(total)))]

    def unseen_usd(self) -> dict[str, float]:
        """Returns by line of the bill what was paid before the look that found it, or is not paid by the hour."""
        row = self._database.execute("SELECT value FROM run WHERE key = ?", (UNSEEN,)).fetchone()
        return {} if row is None else dict(json.loads(row["value"]))

    def last_observed_at(self) -> float | None:
        """Returns the time of the last observation, seconds since the epoch; None before the first."""
        at = self._database.execute("SELECT max(at) FROM summaries").fetchone()[0]
        return None if at is None else float(at)

    def observations(self, since: float = 0.0) -> tuple[Observation, ...]:
        """Returns the observations since a time, oldest first: those that are still kept whole."""
        rows = self._database.execute("SELECT * FROM observations WHERE at >= ? ORDER BY at, id", (since,))
        return tuple(_observation(row) for row in rows)

    def recent(self, per_fleet: int) -> tuple[Observation, ...]:
        """Returns the last observations of each fleet that was seen, oldest first: at most `KEPT_OF_EACH_FLEET` each.

        Only what was added since the last call by another process is read: an observation of a thousand nodes takes a
        hundredth of a second to read.
        """
        numbers = [row["id"] for row in self._database.execute(_RECENT, (per_fleet,))]
        known = {**self._read, **self._added}
        self._read = {number: known.get(number) or self._observation(number) for number in numbers}
        self._added.clear()
        return tuple(self._read.values())

    def summaries(self, after: int = 0) -> Iterator[tuple[int, summary.Summary]]:
        """Yields the number of each observation after a number, and the observation in a few numbers; oldest first."""
        for row in self._database.execute("SELECT * FROM summaries WHERE id > ? ORDER BY id", (after,)):
            fleet, plain = Fleet(json.loads(row["fleet"])), codec.unpacked(row["summary"])
            yield row["id"], summary.from_plain(row["at"], fleet, row["usd_per_hour"], plain)

    def spent_usd(self, until: float | None = None) -> float:
        """Returns the cost of the cluster, integrated over the observations.

        Args:
            until: The time up to which the cost is counted; the last observation before it holds until then. Without
                it, the cost is counted up to the last observation.
        """
        spent, previous = sum(self.unseen_usd().values()), None
        latest = math.inf if until is None else until
        rows = self._database.execute("SELECT at, usd_per_hour FROM summaries WHERE at <= ? ORDER BY at, id", (latest,))
        for row in rows:
            if previous is not None:
                spent += (row["at"] - previous["at"]) * previous["usd_per_hour"] / SECONDS_PER_HOUR
            previous = row
        if previous is not None and until is not None:
            spent += (until - previous["at"]) * previous["usd_per_hour"] / SECONDS_PER_HOUR
        return float(spent)

    def _last_number(self) -> int:
        return int(self._database.execute("SELECT max(id) FROM summaries").fetchone()[0])

    def _observation(self, number: int) -> Observation:
        return _observation(self._database.execute("SELECT * FROM observations WHERE id = ?", (number,)).fetchone())


def _observation(row: sqlite3.Row) -> Observation:
    return Observation(
        row["at"],
        Fleet(json.loads(row["fleet"])),
        codec.read_facts(row["facts"]),
        codec.read_unknown(row["unknown"]),
        credits=codec.read_credits(dict(row).get("credits")),
    )
