"""The log: one line for each decision and each step of a move, with the run and the move."""

from __future__ import annotations

import io
import json
import os
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.domain import Decision, Fleet, Move, MovePhase, Observation, Verdict
from controller.domain.reasons import Said
from controller.domain.reasons.deciding import EndsSoon, NoStepsLeft
from controller.record.live.log_file import LogFile
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


@pytest.mark.parametrize("log_format", list(LogFormat))
def test_on_a_full_disk_lines_are_lost_and_counted_and_the_reporter_goes_on(
    log_format: LogFormat, tmp_path: Path
) -> None:
    with LogFile(tmp_path / "centavo.log") as file, LogFile(Path("/dev/full")) as full:
        log = LogReporter("r", log_format, file)
        log.note(NOW, "before")
        log._stream = full
        for _ in range(3):
            log.note(NOW, "meanwhile")
        log._stream = file
        log.note(NOW, "after")
        log.note(NOW, "later")
    lines = (tmp_path / "centavo.log").read_text().splitlines()
    assert [words in line for line, words in zip(lines, ["before", "3 lines were lost", "after", "later"], strict=True)]
    assert "meanwhile" not in "".join(lines)


def test_a_line_that_was_torn_does_not_tear_the_next(tmp_path: Path) -> None:
    path = tmp_path / "centavo.log"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with LogFile(path) as file:
        log = LogReporter("r", LogFormat.TEXT, file)
        log.note(NOW, "x" * 60_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 9, hard))
        try:
            log.note(NOW, "torn")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        log.note(NOW, "whole")
    _, torn, lost, whole = path.read_text().splitlines()
    assert len(torn) == 9 and "1 lines were lost" in lost and whole.endswith("run r: whole")


def test_an_output_that_nobody_reads_any_more_is_no_full_disk(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream, pytest.raises(BrokenPipeError):
        try:
            LogReporter("r", LogFormat.TEXT, stream).note(NOW, "unread")
        finally:
            os.dup2(os.open(os.devnull, os.O_WRONLY), writing)
