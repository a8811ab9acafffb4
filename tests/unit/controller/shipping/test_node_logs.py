"""Which logs a node has, and whose they are; and the program that ships them, as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.moto_api._internal.models import moto_api_backend
from moto.server import ThreadedMotoServer

from controller.shipping.node_logs import node_logs, rank_of

REPOSITORY = Path(__file__).resolve().parents[4]
RUN = "20261122T184029Z"
PATIENCE_S = 60.0


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    moto_api_backend.reset()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    client = boto3.client("logs", region_name="us-east-1")
    client.create_log_group(logGroupName="/centavo/unit")
    yield client
    server.stop()


@pytest.mark.parametrize(
    ("content", "rank"),
    [
        ('{"rank": 3}', 3),
        ('{"rank": 0}', 0),
        ('{"rank": null}', None),
        ('{"rank": true}', None),
        ('{"rank": "3"}', None),
        ('{"rank": -1}', None),
        ("[]", None),
        ("{", None),
        ("", None),
    ],
)
def test_the_rank_is_what_the_fact_says(tmp_path: Path, content: str, rank: int | None) -> None:
    (tmp_path / "iteration.fact").write_text(content)
    assert rank_of(tmp_path / "iteration.fact") == rank


def test_the_boot_log_of_an_emulated_node_is_not_the_machines_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CENTAVO_BOOT_LOG", str(tmp_path / "console.log"))
    (boot,) = [log for log in node_logs(tmp_path, tmp_path / "fact", RUN, "i-1") if "boot" in log.stream()]
    assert boot.path == tmp_path / "console.log"


def test_the_streams_have_the_names_of_run_rank_and_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CENTAVO_BOOT_LOG", raising=False)
    fact = tmp_path / "iteration.fact"
    sources = {source.name: source for source in node_logs(tmp_path, fact, RUN, "i-1")}
    assert {name: source.stream() for name, source in sources.items()} == {
        "worker.log": f"{RUN}/worker-i-1",
        "launcher.log": f"{RUN}/launcher",
        "supervisord.log": f"{RUN}/supervisor-i-1",
        "cloud-init-output.log": f"{RUN}/boot-i-1",
    }
    fact.write_text(json.dumps({"rank": 3}))
    assert sources["worker.log"].stream() == f"{RUN}/centavo-{RUN}-3"


@pytest.mark.slow
def test_the_program_ships_what_is_there_until_it_is_asked_to_end(tmp_path: Path, logs: Any) -> None:
    (tmp_path / "log").mkdir()
    worker = tmp_path / "log" / "worker.log"
    worker.write_text("warming up\n")
    options = {
        "--group": "/centavo/unit", "--region": "us-east-1", "--run": RUN, "--instance": "i-1", "--every": "0.05",
        "--root": str(tmp_path), "--fact": str(tmp_path / "iteration.fact"),
    }  # fmt: skip
    command = [sys.executable, "-m", "shipping", *(part for pair in options.items() for part in pair)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(REPOSITORY / "controller")})
    try:
        assert arrived(logs, f"{RUN}/worker-i-1") == ["warming up"]
        (tmp_path / "iteration.fact").write_text(json.dumps({"rank": 0}))
        with worker.open("a") as file:
            file.write("step 1\n")
        assert arrived(logs, f"{RUN}/centavo-{RUN}-0") == ["step 1"]
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


def arrived(logs: Any, stream: str) -> list[str]:
    """Returns the lines of a stream, as soon as there are some."""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        try:
            events = logs.get_log_events(logGroupName="/centavo/unit", logStreamName=stream)["events"]
        except logs.exceptions.ResourceNotFoundException:
            events = []
        if events:
            return [event["message"] for event in events]
        time.sleep(0.05)
    raise AssertionError(f"nothing came to {stream}")
