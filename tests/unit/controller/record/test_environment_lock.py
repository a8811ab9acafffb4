"""The lock of an environment: one holder, freed by its death, and never kept by what the holder has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.domain.errors import LockedError, SupersededError
from controller.domain.reasons.writing import HeldByAnother, HeldBySomebody
from controller.edges.process_identity import process, this_process
from controller.record.environment_lock import FILE_NAME, locked, take_lock

NOW = 1_800_000_000.0
HOLD = """
import os, subprocess, sys
from pathlib import Path
from controller.record.environment_lock import take_lock
lock = take_lock(Path(sys.argv[1]), "test", "centavo optimize", 1_800_000_000.0)
children = []
if sys.argv[2] == "exec":
    children.append(subprocess.Popen(["sleep", "600"], close_fds=False).pid)
elif sys.argv[2] == "fork":
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b".")
        sys.stdin.readline()
        os._exit(0)
    os.read(reading, 1)  # the child runs, and has given up what it inherited
    children.append(child)
print(*children, flush=True)
sys.stdin.readline()
"""


@pytest.fixture(params=["nothing", "exec", "fork"])
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    """The number of a holder that was killed with -9, and whose children live on."""
    command = [sys.executable, "-c", HOLD, str(tmp_path), request.param]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdin is not None
    children = [int(pid) for pid in holder.stdout.readline().split()]
    with pytest.raises(LockedError):
        take_lock(tmp_path, "test", "centavo apply", NOW)
    holder.kill()
    holder.wait()
    assert all(not process(pid).is_dead() for pid in children)
    yield holder.pid
    holder.stdin.close()
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def test_a_second_holder_is_refused_and_told_who_holds_the_lock(tmp_path: Path) -> None:
    with locked(tmp_path, "test", "centavo optimize", NOW), pytest.raises(LockedError) as refused:
        take_lock(tmp_path, "test", "centavo apply", NOW + 60)
    own = this_process()
    assert refused.value.reason == HeldByAnother("test", own.user, own.host, own.pid, "centavo optimize", NOW)
    assert f"`centavo optimize` of {own.user}@{own.host} (process {own.pid})" in refused.value.what
    assert "since 2027-01-15T08:00:00Z" in refused.value.what
    assert f"kill {own.pid}" in refused.value.next_step


def test_a_lock_that_was_given_back_is_free_and_leaves_nothing_to_tell(tmp_path: Path) -> None:
    with locked(tmp_path, "test", "centavo apply", NOW):
        pass
    told: list[str] = []
    with locked(tmp_path, "test", "centavo optimize", NOW, told.append) as lock:
        lock.check()
    assert not told


def test_the_death_of_the_holder_frees_the_lock_and_what_it_left_is_told(tmp_path: Path, killed: int) -> None:
    told: list[str] = []
    with locked(tmp_path, "test", "centavo optimize", NOW, told.append) as lock:
        lock.check()
        assert lock.stale is not None and lock.stale.process.pid == killed
    assert told == [f"{lock.stale} ended without giving its lock back; the lock is cleared"]


def test_a_forked_child_does_not_hold_the_lock_and_knows_it(tmp_path: Path) -> None:
    with locked(tmp_path, "test", "centavo optimize", NOW) as lock:
        child = os.fork()
        if child == 0:
            try:
                lock.check()
            except SupersededError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        lock.check()


@pytest.mark.parametrize("content", [b"", b"not JSON", b'{"process": 1}', b"[]"])
def test_a_holder_that_could_not_write_who_it_is_keeps_others_out_all_the_same(tmp_path: Path, content: bytes) -> None:
    with locked(tmp_path, "test", "centavo optimize", NOW):
        (tmp_path / FILE_NAME).write_bytes(content)
        with pytest.raises(LockedError) as refused:
            take_lock(tmp_path, "test", "centavo apply", NOW)
    assert isinstance(refused.value.reason, HeldBySomebody)


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_holder_whose_file_was_taken_away_has_lost_the_lock(tmp_path: Path, is_replaced: bool) -> None:
    lock = take_lock(tmp_path, "test", "centavo optimize", NOW)
    (tmp_path / FILE_NAME).unlink()
    other = take_lock(tmp_path, "test", "centavo optimize", NOW) if is_replaced else None
    with pytest.raises(SupersededError, match="was removed or replaced"):
        lock.check()
    lock.release()
    if other is not None:
        other.check()
        other.release()


def test_a_released_lock_is_held_no_more(tmp_path: Path) -> None:
    lock = take_lock(tmp_path, "test", "centavo optimize", NOW)
    lock.release()
    lock.release()
    with pytest.raises(SupersededError):
        lock.check()


def test_processes_are_told_apart_by_when_they_started() -> None:
    own = this_process()
    assert not own.is_dead()
    earlier = type(own)(own.user, own.host, own.pid, "another start")
    assert earlier.is_dead()
    ended = subprocess.Popen(["true"])
    gone = process(ended.pid)
    ended.wait()
    assert gone.is_dead() and process(ended.pid).is_dead()
    assert not type(own)(own.user, "another.host", own.pid, "another start").is_dead()
