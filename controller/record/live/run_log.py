"""A run as lines of a log, for people or as JSON. Each line names the run, and the move that is under way."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from enum import Enum
from typing import Any, Protocol

from controller.domain import Decision, Move, Observation, Progress
from controller.domain.errors import CentavoError
from controller.record.journal.reasons import described_reason
from controller.record.live.decision_news import DecisionNews
from controller.record.live.log_file import NO_ROOM
from controller.record.live.observation_line import ObservationNews, describe
from controller.words.times import clock
from controller.words.verdicts import decision_in_words

FILE_NAME = "centavo.log"


def error_line(at: float, error: CentavoError) -> str:
    """Returns the JSON line of an error that ends the main job, whether it had begun a run or not."""
    fields = {**described_reason(error.reason), "next_step": error.next_step, "exit_code": error.exit_code}
    head = {"at": _moment(at), "run": None, "move": None, "event": "error", "message": error.what}
    return json.dumps(head | fields)


class Stream(Protocol):
    """What lines are written to: a `LogFile`, or any text stream."""

    def write(self, text: str, /) -> int: ...
    def flush(self) -> None: ...


class LogFormat(str, Enum):
    """For whom the lines are."""

    TEXT = "text"
    JSON = "json"


class LogReporter:
    """A reporter that writes a line for each thing as it happens.

    JSON has every observation and decision. The text has those that say something new. Lines for which the disk has no
    room are lost and counted.
    """

    def __init__(self, run: str, log_format: LogFormat = LogFormat.TEXT, stream: Stream | None = None) -> None:
        self._run, self._format, self._stream = run, log_format, stream
        self._news, self._decisions = ObservationNews(), DecisionNews()
        self._move: int | None = None
        self._lost = 0

    def note(self, at: float, message: str) -> None:
        """Writes a note."""
        self._write(at, "note", message)

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        """Writes an observation."""
        is_new = self._news.is_new(observation, progress)
        if not is_new and self._format is LogFormat.TEXT:
            return
        fields = {
            "fleet": observation.fleet.present,
            "step": progress.step if progress else None,
            "unknown": len(observation.unknown),
            "spent_usd": round(spent_usd, 6),
        }
        self._write(observation.at, "observation", describe(observation, progress, spent_usd), fields)

    def decided(self, decision: Decision) -> None:
        """Writes a decision, with its reason as words, code and facts."""
        is_new = self._decisions.is_new(decision)
        if not is_new and self._format is LogFormat.TEXT:
            return
        fields = {
            "verdict": decision.verdict.value,
            "policy": decision.policy,
            **described_reason(decision.reason),
            "current": decision.current.present,
            "target": decision.target.present,
            "saving_usd": decision.saving_usd,
            "switching_usd": decision.switching_usd,
        }
        self._write(decision.at, "decision", decision_in_words(decision), fields)

    def moved(self, at: float, move: Move, note: str) -> None:
        """Writes a step of a move, with the move's reason, and with why it ended."""
        self._move = move.move_id
        fields = {
            "phase": move.phase.value,
            "from": move.source.present,
            "to": move.target.present,
            "left_out": move.left_out.present,
            **described_reason(move.reason),
            **described_reason(move.outcome_reason, "outcome_reason", "outcome"),
        }
        self._write(at, "move", note, fields)
        if move.phase.is_final:
            self._move = None

    def _write(self, at: float, event: str, message: str, fields: dict[str, Any] | None = None) -> None:
        if self._lost and self._has_room(
            at, "note", f"{self._lost} lines were lost: there was no room on the disk", {}
        ):
            self._lost = 0
        if not self._has_room(at, event, message, fields or {}):
            self._lost += 1

    def _has_room(self, at: float, event: str, message: str, fields: dict[str, Any]) -> bool:
        """Writes a line, and returns whether there was room for it."""
        line = self._json if self._format is LogFormat.JSON else self._text
        stream = self._stream or sys.stdout
        try:
            stream.write(line(at, event, message, fields) + "\n")
            stream.flush()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            return False
        return True

    def _json(self, at: float, event: str, message: str, fields: dict[str, Any]) -> str:
        return json.dumps(
            {"at": _moment(at), "run": self._run, "move": self._move, "event": event, "message": message, **fields}
        )

    def _text(self, at: float, event: str, message: str, fields: dict[str, Any]) -> str:
        move = f" move {self._move}" if self._move is not None else ""
        phase = f" {fields['phase'].replace('_', ' ')}" if event == "move" else ""
        return f"{clock(at)} run {self._run}{move}{phase}: " + message.replace("\n", " ")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
