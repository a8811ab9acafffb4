"""A worker says that it starts before it does anything that takes long, and starts only where it is wanted."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trainer.files.lock import only_one
from trainer.worker.begin import begin


class Seen:
    """What was there when the heavy part began."""

    fact: dict[str, Any] | None = None


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Puts something in the place of the worker, whose module imports MXNet."""
    seen = Seen()

    class Worker:
        def __init__(self, *given: object, **more: object) -> None:
            seen.fact = json.loads((tmp_path / "facts" / "iteration.fact").read_text())

        def run(self, socket: Path, wanted: Path | None) -> int:
            return 7

    module = ModuleType("trainer.worker.warm_worker")
    module.WarmWorker = Worker  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trainer.worker.warm_worker", module)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
    (tmp_path / "training.yml").write_text("stop: {steps: 1}\n")
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "iteration.fact").write_text('{"state": "training", "step": 900}')
    return seen


def start(directory: Path, wanted: Path | None = None) -> int:
    return begin(directory / "training.yml", [], directory / "run" / "worker.sock", directory / "facts", wanted)


def test_the_fact_of_an_earlier_rank_is_gone_before_anything_heavy_begins(tmp_path: Path, seen: Seen) -> None:
    assert start(tmp_path) == 7
    assert seen.fact is not None
    assert (seen.fact["state"], seen.fact["step"], seen.fact["rank"]) == ("starting", 0, None)


def test_a_worker_that_is_not_wanted_starts_nothing_and_leaves_the_fact_alone(tmp_path: Path, seen: Seen) -> None:
    wanted = tmp_path / "wanted"
    assert start(tmp_path, wanted) == 0
    assert seen.fact is None
    assert json.loads((tmp_path / "facts" / "iteration.fact").read_text())["state"] == "training"
    wanted.touch()
    assert start(tmp_path, wanted) == 7


def test_a_stale_socket_is_removed(tmp_path: Path, seen: Seen) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "worker.sock").touch()
    start(tmp_path)
    assert not (tmp_path / "run" / "worker.sock").exists()


def test_the_lock_is_held_while_the_worker_runs(tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[Path] = []

    def remember(path: Path) -> Any:
        paths.append(path)
        return only_one(path)

    monkeypatch.setattr("trainer.worker.begin.only_one", remember)
    start(tmp_path)
    assert paths == [tmp_path / "run" / "worker.lock"]
