"""The training's log in its storage, while the training goes on."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import pytest

from trainer.checkpoint.log_lines import LogLines
from trainer.record.log_copies import BYTES_PER_S, EVENTS_NAME, LOG_NAME, LogCopies
from trainer.record.tensorboard import EventFile
from trainer.storage.directory import DirectoryStorage
from trainer.storage.storage import StorageError


class Storage(DirectoryStorage):
    """A directory that can be out of reach, and counts what it is given."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.is_there, self.puts = True, 0

    def put(self, name: str, data: bytes) -> None:
        self.puts += 1
        if not self.is_there:
            raise StorageError(f"{name} cannot be written: no network")
        super().put(name, data)

    def steps(self) -> list[int]:
        found = self.get(LOG_NAME) or b""
        return [json.loads(line)["step"] for line in found.splitlines()]


def lines(*steps: int) -> LogLines:
    return LogLines({"step": step, "loss": 1.0, "t": "2026-11-21T06:00:00Z"} for step in steps)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "storage")


def test_the_newest_log_is_in_the_storage_while_the_training_goes_on(storage: Storage) -> None:
    copies = LogCopies(storage, lambda: None, least_pause_s=0.01)
    log = lines(1)
    copies.offer(log)
    log.append({"step": 2})
    copies.offer(log)
    log.append({"step": 3})
    deadline = time.monotonic() + 60
    while storage.steps() != [1, 2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_event_file_is_there_too(storage: Storage, tmp_path: Path) -> None:
    events = EventFile(str(tmp_path / "events"))
    copies = LogCopies(storage, lambda: events.file)
    log = lines(1, 2)
    events.write(log)
    copies._newest = log
    copies.copy_once()
    (written,) = (tmp_path / "events").iterdir()
    assert storage.get(EVENTS_NAME) == written.read_bytes()


def test_through_an_outage_only_the_newest_log_waits(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    copies = LogCopies(storage, lambda: None)
    storage.is_there = False
    with caplog.at_level(logging.WARNING):
        for step in range(1, 50):
            copies._newest = lines(*range(1, step))
            assert copies.copy_once() > 15.0, "an outage is no reason to hurry"
        assert caplog.text.count("tried again") == 1
        storage.is_there = True
        copies.copy_once()
    assert storage.steps() == list(range(1, 49)) and "again" in caplog.messages[-1]
    assert copies._newest is None


def test_a_rank_that_is_no_longer_the_first_copies_nothing(storage: Storage) -> None:
    copies = LogCopies(storage, lambda: None)
    copies._newest = lines(1)
    copies.drop()
    copies.copy_once()
    assert storage.puts == 0


def test_a_long_log_is_copied_seldom(storage: Storage) -> None:
    copies = LogCopies(storage, lambda: None)
    copies._newest = lines(*range(50_000))
    pause_s = copies.copy_once()
    assert pause_s == pytest.approx(len(storage.get(LOG_NAME) or b"") / BYTES_PER_S) and pause_s > 60
