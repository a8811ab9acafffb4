"""The journal of one run, `runs/RUN/journal.sqlite`: what was seen, decided and done, and where the run is.

Every write is a transaction of its own, so that a controller killed at any point finds the last step it began.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from controller.config.constraints import NOTHING_PROMISED, Promises
from controller.domain import SECONDS_PER_HOUR, Decision, Fleet, Move, Observation, Verdict
from controller.domain.errors import JournalError
from controller.record.journal import codec, summary

SCHEMA_VERSION = 1
FILE_NAME = "journal.sqlite"

SCHEMA = """
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE observations (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, fleet TEXT NOT NULL, facts TEXT NOT NULL, unknown TEXT NOT NULL,
    usd_per_hour REAL NOT NULL);
CREATE TABLE summaries (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, usd_per_hour REAL NOT NULL, fleet TEXT NOT NULL, summary TEXT NOT NULL);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, policy TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,
    decision TEXT NOT NULL);
CREATE TABLE moves (
    move_id INTEGER PRIMARY KEY, at REAL NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, reason TEXT NOT NULL,
    phase TEXT NOT NULL, grown TEXT NOT NULL, drain TEXT NOT NULL, outcome_reason TEXT, ended_at REAL, pause_s REAL,
    steps_lost INTEGER, is_probe INTEGER NOT NULL DEFAULT 0);
CREATE TABLE events (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, move_id INTEGER, kind TEXT NOT NULL, message TEXT NOT NULL);
CREATE TABLE unavailable (flavor TEXT PRIMARY KEY, until REAL NOT NULL, reason TEXT NOT NULL);
CREATE INDEX observations_at ON observations (at);
"""


_RECENT = """
SELECT id FROM (
    SELECT id, at, row_number() OVER (PARTITION BY fleet ORDER BY at DESC, id DESC) AS place FROM summaries)
WHERE place <= ? ORDER BY at, id
"""


class Stage(str, Enum):
    """Where a run is; a second `centavo optimize` goes on from here."""

    STARTING = "starting"
    TRAINING = "training"
    ENDING = "ending"
    ENDED = "ended"


@dataclass(frozen=True)
class RunInfo:
    """What a run is, from its first moment on."""

    run: str
    environment: str
    policy: str
    started_at: float
    initial: Fleet
    promises: Promises = NOTHING_PROMISED
    """What was asked of this run, else what centavo.yml said when the run was last taken up."""


class Journal:
    """One run's journal. Raises JournalError when the file is not one of ours."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._database = sqlite3.connect(directory / FILE_NAME, isolation_level=None, timeout=10)
        self._database.row_factory = sqlite3.Row
        self._read: dict[int, Observation] = {}
        self._check()

    def close(self) -> None:
        self._database.close()

    # the run

    def info(self) -> RunInfo:
        """What the run is."""
        values = self._values()
        return RunInfo(
            values["run"],
            values["environment"],
            values["policy"],
            float(values["started_at"]),
            Fleet(json.loads(values["initial"])),
            _promises(values, "asked").over(_promises(values, "configured")),
        )

    def promise(self, asked: Promises, configured: Promises) -> None:
        """Keeps what a person asks of this run, which leaves standing what was asked before and is not asked anew; and
        what centavo.yml says, which holds for the rest."""
        self._set("asked", codec.to_json(asked.over(_promises(self._values(), "asked"))))
        self._set("configured", codec.to_json(configured))

    def stage(self) -> Stage:
        """Where the run is."""
        return Stage(self._values()["stage"])

    def set_stage(self, stage: Stage) -> None:
        self._set("stage", stage.value)

    def status(self) -> str:
        """running, finished, failed, or interrupted (its fleet was taken away)."""
        return self._values().get("status", "running")

    def end(self, status: str, reason: str | None, at: float) -> None:
        """Notes how the training ended. The run itself ends with `set_stage(Stage.ENDED)`."""
        self._set("status", status)
        self._set("status_reason", reason or "")
        self._set("ended_at", repr(at))

    def status_reason(self) -> str | None:
        return self._values().get("status_reason") or None

    def ended_at(self) -> float | None:
        ended_at = self._values().get("ended_at")
        return None if ended_at is None else float(ended_at)

    def set_policy(self, policy: str) -> None:
        self._set("policy", policy)

    def set_initial(self, fleet: Fleet) -> None:
        """The fleet that the training starts on, once it is certain."""
        self._set("initial", codec.to_json(fleet))

    def members(self) -> frozenset[str]:
        """The instances in the hosts file, as last written."""
        return frozenset(json.loads(self._values().get("members", "[]")))

    def set_members(self, instance_ids: frozenset[str]) -> None:
        self._set("members", json.dumps(sorted(instance_ids)))

    def recalled(self) -> tuple[str, dict[str, float]] | None:
        """The circumstances of this training, and the tokens per second by flavor that earlier runs measured in them.
        None until they were taken up."""
        text = self._values().get("recalled")
        if text is None:
            return None
        circumstances, tokens_per_s = json.loads(text)
        return circumstances, tokens_per_s

    def set_recalled(self, circumstances: str, tokens_per_s: Mapping[str, float]) -> None:
        self._set("recalled", codec.to_json([circumstances, tokens_per_s]))

    # what was seen

    def add_observation(self, observation: Observation, usd_per_hour: float) -> None:
        """Keeps an observation, and what the cluster costs an hour at that time, head included."""
        fleet, brief = codec.to_json(observation.fleet), summary.to_plain(summary.summarise(observation, usd_per_hour))
        self._database.execute("BEGIN IMMEDIATE")
        with self._database:
            row = self._database.execute(
                "INSERT INTO observations (at, fleet, facts, unknown, usd_per_hour) VALUES (?, ?, ?, ?, ?)",
                (
                    observation.at,
                    fleet,
                    codec.to_json(observation.facts),
                    codec.to_json(observation.unknown),
                    usd_per_hour,
                ),
            )
            self._database.execute(
                "INSERT INTO summaries VALUES (?, ?, ?, ?, ?)",
                (row.lastrowid, observation.at, usd_per_hour, fleet, codec.to_json(brief)),
            )

    def observations(self, since: float = 0.0) -> tuple[Observation, ...]:
        """Observations since a time, oldest first."""
        rows = self._database.execute("SELECT * FROM observations WHERE at >= ? ORDER BY at, id", (since,))
        return tuple(_observation(row) for row in rows)

    def recent(self, per_fleet: int) -> tuple[Observation, ...]:
        """Of each fleet that was seen its last observations, oldest first. Reads anew only what was added since the
        last call: at a thousand nodes an observation takes a hundredth of a second to read."""
        numbers = [row["id"] for row in self._database.execute(_RECENT, (per_fleet,))]
        self._read = {number: self._read.get(number) or self._observation(number) for number in numbers}
        return tuple(self._read.values())

    def _observation(self, number: int) -> Observation:
        return _observation(self._database.execute("SELECT * FROM observations WHERE id = ?", (number,)).fetchone())

    def summaries(self, after: int = 0) -> Iterator[tuple[int, summary.Summary]]:
        """Every observation in a few numbers, oldest first, with its number; those after a number."""
        for row in self._database.execute("SELECT * FROM summaries WHERE id > ? ORDER BY id", (after,)):
            yield (
                row["id"],
                summary.from_plain(
                    row["at"], Fleet(json.loads(row["fleet"])), row["usd_per_hour"], json.loads(row["summary"])
                ),
            )

    def spent_usd(self, until: float | None = None) -> float:
        """The cost of the cluster integrated over the observations up to `until`, until which the last of them holds;
        without it over all of them."""
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

    # what was decided and done

    def add_decision(self, decision: Decision) -> None:
        self._database.execute(
            "INSERT INTO decisions (at, policy, verdict, reason, decision) VALUES (?, ?, ?, ?, ?)",
            (decision.at, decision.policy, decision.verdict.value, decision.reason.code, codec.to_json(decision)),
        )

    def decisions(self) -> Iterator[Decision]:
        """All decisions, oldest first."""
        for row in self._database.execute("SELECT decision FROM decisions ORDER BY id"):
            yield codec.decision_from_json(row["decision"])

    def decisions_after(self, number: int) -> Iterator[tuple[int, Decision]]:
        """The decisions after a number, oldest first, each with its own number."""
        for row in self._database.execute("SELECT id, decision FROM decisions WHERE id > ? ORDER BY id", (number,)):
            yield row["id"], codec.decision_from_json(row["decision"])

    def last_decision_number(self) -> int:
        """The number of the last decision; 0 before the first."""
        return int(self._database.execute("SELECT coalesce(max(id), 0) FROM decisions").fetchone()[0])

    def numbers_of(self, verdict: Verdict) -> list[int]:
        """The numbers of the decisions with that verdict, in order."""
        rows = self._database.execute("SELECT id FROM decisions WHERE verdict = ? ORDER BY id", (verdict.value,))
        return [row["id"] for row in rows]

    def plain_decisions(self) -> Iterator[dict[str, Any]]:
        """All decisions as plain data, oldest first: a report of many reads them several times as fast."""
        for row in self._database.execute("SELECT decision FROM decisions ORDER BY id"):
            yield json.loads(row["decision"])

    def last_decision(self) -> Decision | None:
        row = self._database.execute("SELECT decision FROM decisions ORDER BY id DESC LIMIT 1").fetchone()
        return None if row is None else codec.decision_from_json(row["decision"])

    def next_move_id(self) -> int:
        return int(self._database.execute("SELECT coalesce(max(move_id), 0) + 1 FROM moves").fetchone()[0])

    def save_move(self, move: Move) -> None:
        """Writes a move's row, the first time or again."""
        row = codec.move_to_row(move)
        self._database.execute(
            f"INSERT OR REPLACE INTO moves ({', '.join(row)}) VALUES ({', '.join(':' + name for name in row)})", row
        )

    def moves(self) -> tuple[Move, ...]:
        """All moves, oldest first."""
        return tuple(codec.move_from_row(row) for row in self._database.execute("SELECT * FROM moves ORDER BY move_id"))

    def move_under_way(self) -> Move | None:
        """The move that has neither ended well nor been undone, if there is one."""
        return next((move for move in self.moves() if not move.phase.is_final), None)

    def add_event(self, at: float, kind: str, message: str, move_id: int | None = None) -> None:
        self._database.execute(
            "INSERT INTO events (at, move_id, kind, message) VALUES (?, ?, ?, ?)", (at, move_id, kind, message)
        )

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """All events, or those after a number, oldest first: id (their number), at, move_id, kind, message."""
        rows = self._database.execute("SELECT * FROM events WHERE id > ? ORDER BY id", (after,))
        return [dict(row) for row in rows]

    def set_unavailable(self, flavor: str, until: float, reason: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO unavailable VALUES (?, ?, ?)", (flavor, until, reason))

    def unavailable(self, now: float) -> dict[str, tuple[float, str]]:
        """Flavors that can't be had for now: until when, and why."""
        rows = self._database.execute("SELECT * FROM unavailable WHERE until > ?", (now,))
        return {row["flavor"]: (row["until"], row["reason"]) for row in rows}

    def _values(self) -> Mapping[str, str]:
        return {row["key"]: row["value"] for row in self._database.execute("SELECT key, value FROM run")}

    def _set(self, key: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (key, value))

    def _check(self) -> None:
        path = self.directory / FILE_NAME
        try:
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise JournalError(
                f"{path} can't be read: {error}.",
                "Move that run's folder away; `centavo optimize` then starts a new run.",
            ) from error
        if version != SCHEMA_VERSION:
            raise JournalError(
                f"{path} has schema {version}, this Centavo writes {SCHEMA_VERSION}.",
                "Go on with the version that began the run, or move its folder away.",
            )


def create_journal(directory: Path, info: RunInfo) -> Journal:
    """A new run's journal in a new folder. A process killed meanwhile leaves a folder without a journal, and no torn
    one: the file gets its name when all is in it."""
    directory.mkdir(parents=True)
    part = directory / f"{FILE_NAME}.new"
    with closing(sqlite3.connect(part)) as database, database:
        database.executescript("PRAGMA journal_mode=WAL;" + SCHEMA + f"PRAGMA user_version = {SCHEMA_VERSION};")
        database.executemany(
            "INSERT INTO run VALUES (?, ?)",
            [
                ("run", info.run),
                ("environment", info.environment),
                ("policy", info.policy),
                ("started_at", repr(info.started_at)),
                ("initial", codec.to_json(info.initial)),
                ("stage", Stage.STARTING.value),
                ("status", "running"),
            ],
        )
    os.replace(part, directory / FILE_NAME)
    return Journal(directory)


def _promises(values: Mapping[str, str], key: str) -> Promises:
    return Promises(**json.loads(values.get(key, "{}")))


def _observation(row: sqlite3.Row) -> Observation:
    return Observation(
        row["at"],
        Fleet(json.loads(row["fleet"])),
        codec.facts_from_json(row["facts"]),
        codec.unknown_from_json(row["unknown"]),
    )
