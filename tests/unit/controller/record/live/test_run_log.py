"""The log: one line for each decision and each step of a move, with the run and the move."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from controller.domain import Decision, Fleet, Move, MovePhase, Observation, Verdict
from controller.domain.reasons import Said
from controller.domain.reasons.deciding import EndsSoon, NoStepsLeft
from controller.record.live.reporter import Reporters
from controller.record.live.run_log import LogFormat, LogReporter

NOW = 1_800_000_000.0
NOW_FLEET, THEN = Fleet({"t2.medium": 3}), Fleet({"c5.large": 3})
MOVE = Move(7, NOW, NOW_FLEET, THEN, Said("cheaper"), MovePhase.GROWING)
STAY = Decision(NOW, "cheapest-fleet", Verdict.STAY, NOW_FLEET, NOW_FLEET, NoStepsLeft())
DECISION = Decision(NOW, "cheapest-fleet", Verdict.MOVE, NOW_FLEET, THEN, Said("34 % cheaper"), saving_usd=0.01)


def told(log_format: LogFormat) -> list[str]:
    stream = io.StringIO()
    log = LogReporter("20260101T000000Z", log_format, stream)
    log.decided(DECISION)
    log.moved(NOW + 1, MOVE, "capacity 3 x t2.medium -> 3 x c5.large")
    log.observed(Observation(NOW + 2, NOW_FLEET), None, 0.5)
    log.moved(NOW + 3, Move(7, NOW, NOW_FLEET, THEN, Said("cheaper"), MovePhase.ROLLED_BACK), "no\ncapacity")
    log.note(NOW + 4, "fetching the results")
    return stream.getvalue().splitlines()


def test_people_read_one_line_for_each_thing_with_run_and_move() -> None:
    lines = [line[9:] for line in told(LogFormat.TEXT)]
    assert lines == [
        "run 20260101T000000Z: move: 34 % cheaper",
        "run 20260101T000000Z move 7 growing: capacity 3 x t2.medium -> 3 x c5.large",
        "run 20260101T000000Z move 7: 3 x t2.medium, 0 ranks train, $0.5000 spent",
        "run 20260101T000000Z move 7 rolled back: no capacity",
        "run 20260101T000000Z: fetching the results",
    ]


def test_machines_read_the_same_as_json() -> None:
    lines: list[dict[str, Any]] = [json.loads(line) for line in told(LogFormat.JSON)]
    assert [line["event"] for line in lines] == ["decision", "move", "observation", "move", "note"]
    assert [line["move"] for line in lines] == [None, 7, 7, 7, None]
    assert {line["run"] for line in lines} == {"20260101T000000Z"}
    assert lines[0] | {"verdict": "move", "target": {"c5.large": 3}, "saving_usd": 0.01} == lines[0]
    assert lines[1]["at"] == "2027-01-15T08:00:01.000Z"
    assert lines[1]["phase"] == "growing"
    assert (lines[0]["reason_code"], lines[0]["reason_facts"]) == ("said", {"text": "34 % cheaper"})
    assert (lines[1]["reason_code"], lines[1]["outcome_code"]) == ("said", None)


def test_several_reporters_are_all_told() -> None:
    streams = [io.StringIO(), io.StringIO()]
    both = Reporters([LogReporter("r", LogFormat.TEXT, stream) for stream in streams])
    both.decided(DECISION)
    both.moved(NOW, MOVE, "grows")
    both.observed(Observation(NOW, NOW_FLEET), None, 0.0)
    both.note(NOW, "done")
    assert streams[0].getvalue() == streams[1].getvalue()
    assert len(streams[0].getvalue().splitlines()) == 4


@pytest.mark.parametrize(("log_format", "lines"), [(LogFormat.TEXT, 2), (LogFormat.JSON, 4)])
def test_people_read_a_decision_once_however_its_numbers_change(log_format: LogFormat, lines: int) -> None:
    stream = io.StringIO()
    log = LogReporter("r", log_format, stream)
    for remaining_s in (25.0, 20.0, 15.0):
        log.decided(replace(STAY, reason=EndsSoon(remaining_s, 30.0)))
    log.decided(replace(STAY, reason=NoStepsLeft()))
    assert len(stream.getvalue().splitlines()) == lines
