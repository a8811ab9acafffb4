"""Finding and ending processes by a marker in their environment."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.support.processes import end_marked, marked
from tests.support.local_cloud import is_alive, wait_until

NAME = "LOCALCLOUD_TEST_MARK"


@pytest.fixture
def mark() -> Iterator[str]:
    """A value of the marker for this test only. Whatever carries it ends with the test."""
    value = secrets.token_hex(8)
    yield value
    assert end_marked(NAME, value)


def start(script: str, mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["bash", "-c", script], env={**os.environ, NAME: mark}, stdout=subprocess.DEVNULL)


def runs(process: subprocess.Popen[bytes], command: bytes) -> bool:
    return Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(command + b"\0")


def reap(process: subprocess.Popen[bytes]) -> None:
    process.wait(timeout=60)


def test_a_process_and_its_children_are_found_with_a_clean_environment_or_not(mark: str) -> None:
    process = start("sleep 1201 & env -i sleep 1202 & wait", mark)
    found = wait_until(lambda: pids if len(pids := marked(NAME, mark)) == 3 else None, "three processes")
    assert process.pid in found
    assert end_marked(NAME, mark)
    reap(process)


def test_a_daemon_that_left_its_session_is_found(mark: str) -> None:
    reap(start("(setsid bash -c 'sleep 1203 & sleep 1203' &)", mark))
    wait_until(lambda: len(marked(NAME, mark)) == 3, "the daemon")
    assert end_marked(NAME, mark)
    assert marked(NAME, mark) == set()


def test_other_marks_are_left_alone(mark: str) -> None:
    process = start("sleep 1204", mark)
    wait_until(lambda: marked(NAME, mark), "the process")
    assert end_marked(NAME, mark[:-1])
    assert end_marked(NAME, mark + "0")
    assert is_alive(process.pid)
    assert end_marked(NAME, mark)
    reap(process)


def test_what_ignores_sigterm_is_killed_after_the_grace(mark: str) -> None:
    process = start("trap '' TERM; echo; while :; do sleep 0.05; done", mark)
    wait_until(lambda: runs(process, b"bash"), "the script")
    assert end_marked(NAME, mark, grace_s=0.2)
    reap(process)
    assert process.returncode < 0


def test_what_heeds_sigterm_ends_before_the_grace_does(mark: str) -> None:
    process = start("exec sleep 1205", mark)
    wait_until(lambda: runs(process, b"sleep"), "the command")
    started = time.monotonic()
    assert end_marked(NAME, mark, grace_s=600)
    assert time.monotonic() - started < 300
    reap(process)
    assert process.returncode == -15


def test_a_process_that_keeps_forking_is_outrun(mark: str) -> None:
    script = "fork() { trap '' TERM; sleep 0.02; (fork &) ; }; for i in 1 2 3; do (fork &); done"
    reap(start(script, mark))
    wait_until(lambda: marked(NAME, mark), "the forks")
    assert end_marked(NAME, mark, limit_s=120)
    assert marked(NAME, mark) == set()
