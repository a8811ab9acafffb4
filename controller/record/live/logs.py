"""A run as lines of a log, for people or as JSON: one for each decision and each step of a move, run and move named."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from enum import Enum
from typing import Any, TextIO

from controller.domain import Decision, Move, Observation, Progress
from controller.record.live.events import Reporter, describe
from controller.record.live.view import VERBS
from controller.words.reasons import reason_in_words

FILE_NAME = "centavo.log"


class LogFormat(str, Enum):
    """For whom the lines are."""

    TEXT = "text"
    JSON = "json"


class LogReporter:
    """A Reporter that writes a line for each thing as it happens; lines between a move's steps carry the move too."""

    def __init__(self, run: str, log_format: LogFormat = LogFormat.TEXT, stream: TextIO | None = None) -> None:
        self._run, self._format, self._stream = run, log_format, stream
        self._move: int | None = None

    def note(self, at: float, message: str) -> None:
        self._write(at, "note", message)

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        self._write(
            observation.at,
            "observation",
            describe(observation, progress, spent_usd),
            {
                "fleet": observation.fleet.present,
                "step": progress.step if progress else None,
                "unknown": len(observation.unknown),
                "spent_usd": round(spent_usd, 6),
            },
        )

    def decided(self, decision: Decision) -> None:
        self._write(
            decision.at,
            "decision",
            f"{VERBS[decision.verdict]}: {reason_in_words(decision.reason)}",
            {
                "verdict": decision.verdict.value,
                "policy": decision.policy,
                "reason_code": decision.reason.code,
                "current": decision.current.present,
                "target": decision.target.present,
                "saving_usd": decision.saving_usd,
                "switching_usd": decision.switching_usd,
            },
        )

    def moved(self, at: float, move: Move, note: str) -> None:
        self._move = move.move_id
        self._write(
            at, "move", note, {"phase": move.phase.value, "from": move.source.present, "to": move.target.present}
        )
        if move.phase.is_final:
            self._move = None

    def _write(self, at: float, event: str, message: str, fields: dict[str, Any] | None = None) -> None:
        line = self._json if self._format is LogFormat.JSON else self._text
        print(line(at, event, message, fields or {}), file=self._stream or sys.stdout, flush=True)

    def _json(self, at: float, event: str, message: str, fields: dict[str, Any]) -> str:
        moment = datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return json.dumps(
            {"at": moment, "run": self._run, "move": self._move, "event": event, "message": message, **fields}
        )

    def _text(self, at: float, event: str, message: str, fields: dict[str, Any]) -> str:
        move = f" move {self._move}" if self._move is not None else ""
        phase = f" {fields['phase'].replace('_', ' ')}" if event == "move" else ""
        return f"{datetime.fromtimestamp(at):%H:%M:%S} run {self._run}{move}{phase}: " + message.replace("\n", " ")


class Reporters:
    """Several reporters, told one after the other."""

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self._reporters = tuple(reporters)

    def note(self, at: float, message: str) -> None:
        for reporter in self._reporters:
            reporter.note(at, message)

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        for reporter in self._reporters:
            reporter.observed(observation, progress, spent_usd)

    def decided(self, decision: Decision) -> None:
        for reporter in self._reporters:
            reporter.decided(decision)

    def moved(self, at: float, move: Move, note: str) -> None:
        for reporter in self._reporters:
            reporter.moved(at, move, note)
