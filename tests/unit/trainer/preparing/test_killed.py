"""A preparation that is killed again and again comes to the same bytes, and leaves no process behind."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.support.local_cloud import REPOSITORY, wait_until
from tests.support.raw_text import PAIRS, preparation, write_pairs
from trainer.settings.preparation import PreparationSettings

pytestmark = pytest.mark.slow

STAGES = ("cleaned", "vocabulary", "encoded", "shards")
"""What lies in the folder for unfinished work, in the order in which it is made."""


def start(folder: Path, settings: PreparationSettings) -> subprocess.Popen[bytes]:
    config = folder / "corpus.yml"
    config.write_text(settings.model_dump_json())
    command = [sys.executable, "-m", "trainer", "prepare", "--config", str(config), "--processes", "2"]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, cwd=REPOSITORY)


def is_over_or_at(one: subprocess.Popen[bytes], work: Path, stage: str) -> bool:
    is_there = any(path.is_file() or any(path.iterdir()) for path in work.glob(f"*/{stage}"))
    return is_there or one.poll() is not None


def are_gone(processes: list[psutil.Process]) -> bool:
    return not any(psutil.pid_exists(process.pid) for process in processes)


def files_of(folder: str) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).rglob("*")
        if path.is_file() and not path.name.startswith(".partial-")
    }


def test_killed_at_every_stage_it_is_continued_to_the_same_bytes(tmp_path: Path) -> None:
    many = [(f"{source} {number}", f"{target} {number}") for number in range(60) for source, target in PAIRS[:400]]
    train = [write_pairs(tmp_path / "raw", "many", many, ".gz")]
    settings = preparation(tmp_path, train=train, shard_pairs=1000)
    for stage in STAGES:
        one = start(tmp_path, settings)
        wait_until(partial(is_over_or_at, one, tmp_path / "work", stage), stage, 200)
        children = psutil.Process(one.pid).children(recursive=True) if one.poll() is None else []
        one.send_signal(signal.SIGKILL)
        one.wait()
        wait_until(partial(are_gone, children), "children end", 60)
    last = start(tmp_path, settings)
    assert last.wait(300) == 0
    whole = settings.model_copy(update={"output": str(tmp_path / "whole"), "work": str(tmp_path / "elsewhere")})
    assert start(tmp_path, whole).wait(300) == 0
    assert files_of(settings.output) == files_of(whole.output)
