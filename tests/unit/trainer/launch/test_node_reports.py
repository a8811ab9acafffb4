"""What nodes report over the launcher's connections, from the fact on a node to the file on the head."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import trainer.launch
from trainer.launch.node import Node
from trainer.launch.node_reports import FILE_NAME, INTERVAL_S, LONGEST_FACT, Report, ReportsWriter, report_of
from trainer.messages.unix_sockets import listen
from trainer.worker import attach

SCHEMA = json.loads(Path(trainer.launch.__path__[0], "nodes.schema.json").read_text())
GOOD = {"event": "report", "fact": "{}", "clock": 5.0}
LIMIT_S = 60.0


@dataclass
class Reporter:
    address: str
    report: Report | None


def written(directory: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress((directory / FILE_NAME).read_bytes()))
    return document


def test_the_file_is_what_its_schema_says_and_is_written_now_and_then(tmp_path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    now = [100.0]
    writer = ReportsWriter(tmp_path, lambda: now[0])
    writer.update([Reporter("10.0.0.1", Report("{}", 5.0, 6.0)), Reporter("10.0.0.2", None)])
    document = written(tmp_path)
    jsonschema.validate(document, SCHEMA)
    assert document["nodes"] == {"10.0.0.1": {"fact": "{}", "clock": 5.0, "received_at": 6.0}}
    writer.update([])
    assert written(tmp_path)["nodes"] != {}
    now[0] += INTERVAL_S
    writer.update([])
    assert written(tmp_path)["nodes"] == {}


def test_a_file_that_cannot_be_written_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    now = [100.0]
    writer = ReportsWriter(tmp_path / "file", lambda: now[0])
    for _ in range(2):
        writer.update([])
        now[0] += INTERVAL_S
    assert caplog.text.count("cannot be written") == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"fact": None},
        {"fact": {}},
        {"fact": ""},
        {"fact": "x" * (LONGEST_FACT + 1)},
        {"clock": None},
        {"clock": True},
        {"clock": -1},
        {"clock": "5"},
        {"clock": float("nan")},
        {"clock": float("inf")},
    ],
)
def test_a_message_that_is_no_report_is_none(changes: dict[str, Any]) -> None:
    assert report_of(GOOD, 7.0) == Report("{}", 5.0, 7.0)
    assert report_of({**GOOD, **changes}, 7.0) is None


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_fact_of_a_node_comes_to_the_launcher_again_and_again(tmp_path: Path) -> None:
    fact, place = tmp_path / "iteration.fact", tmp_path / "warm.sock"
    fact.write_text('{"step": 1}')
    with listen(place) as server:
        command = [sys.executable, "-m", "trainer", "attach", "--socket", str(place), "--fact-path", str(tmp_path)]
        node = Node("10.0.0.1", command, io.StringIO())
        connection, _ = server.accept()
        with connection:
            connection.recv(1)
            connection.sendall(json.dumps({"event": "progress", "step": 3}).encode() + b"\n")
            until(lambda: node.report is not None and node.step == 3)
            assert node.report is not None and node.report.fact == '{"step": 1}'
            assert abs(node.report.clock - time.time()) < LIMIT_S
            fact.write_text('{"step": 2}')
            until(lambda: node.report is not None and node.report.fact == '{"step": 2}')
            connection.sendall(json.dumps({"event": "exit", "code": 0}).encode() + b"\n")
        assert node.wait(LIMIT_S) == 0


def test_a_fact_that_is_too_long_or_not_there_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    pauses: list[float] = []
    files = [None, "", "x" * (LONGEST_FACT + 1), "é", "y" * LONGEST_FACT]

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == len(files):
            raise SystemExit
        place(files[len(pauses)])

    def place(text: str | None) -> None:
        if text is not None:
            (tmp_path / "iteration.fact").write_text(text, encoding="utf-8")

    monkeypatch.setattr(attach.time, "sleep", pause)
    monkeypatch.setattr(attach, "_tell", lambda line: sent.append(json.loads(line)))
    with pytest.raises(SystemExit):
        attach._report(tmp_path / "iteration.fact")
    assert [each["fact"] for each in sent] == ["é", "y" * LONGEST_FACT]


def test_a_launcher_that_has_hung_up_ends_the_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "iteration.fact").write_text("{}")
    read, write = os.pipe()
    os.close(read)
    monkeypatch.setattr(attach, "STDERR", write)
    attach._report(tmp_path / "iteration.fact")
    os.close(write)
