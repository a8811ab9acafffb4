"""The launcher tries again where that may help, says how the training ended, and does nothing after its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainer.launch import launcher as launcher_module
from trainer.launch.done import End, write_end
from trainer.launch.launcher import Launcher
from trainer.launch.options import LaunchOptions
from trainer.settings.section import section_from
from trainer.settings.training import Settings
from trainer.storage.storage import StorageError


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    monkeypatch.setattr(launcher_module, "PAUSE_S", 0.0)


def make(directory: Path, **given: Any) -> Launcher:
    options = LaunchOptions(directory / "hosts", directory / "results", "attach it", "lo", **given)
    settings = {
        "stop": {"steps": 1},
        "storage": str(directory / "storage"),
        "facts": {"path": str(directory / "facts.d")},
    }
    return Launcher(options, section_from(Settings, settings))


def attempts(monkeypatch: pytest.MonkeyPatch, *steps: int, last: str = "lost") -> list[int]:
    """Lets each attempt get to a step and be lost, and the last one end as `last`. Returns the numbers of attempts."""
    numbers: list[int] = []
    ends: Iterator[int] = iter(steps)

    def attempt(launcher: Launcher, number: int) -> End:
        numbers.append(number)
        step = next(ends, None)
        launcher._nodes._highest_step = max(launcher._nodes._highest_step, step or 0)
        return End("lost", "all ranks are lost") if step is not None else End(last, "at last")  # type: ignore[arg-type]

    monkeypatch.setattr(Launcher, "_attempt", attempt)
    return numbers


def done(directory: Path) -> dict[str, Any]:
    return dict(json.loads((directory / "results" / "done.json").read_text()))


def test_a_launcher_that_fails_itself_says_so_where_the_end_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(launcher: Launcher, number: int) -> End:
        raise OSError("no space left on device")

    monkeypatch.setattr(Launcher, "_attempt", broken)
    assert make(tmp_path).run() == 1
    assert done(tmp_path)["status"] == "failed" and "no space left on device" in done(tmp_path)["reason"]
    fact = json.loads((tmp_path / "facts.d" / "launcher.fact").read_text())
    assert (fact["state"], "no space" in fact["reason"]) == ("ended", True)


def test_attempts_in_a_row_that_get_no_further_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = attempts(monkeypatch, 10, 20, 20, 15, 15, 15)
    assert make(tmp_path, patience_s=0.0).run() == 1
    assert numbers == [1, 2, 3, 4], "the second one got further: from then on, three in a row were in vain"
    assert done(tmp_path) == {"status": "failed", "reason": "all ranks are lost"}


def test_a_network_that_fails_for_minutes_does_not_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(launcher_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Launcher, "_pause", lambda launcher: now.append(now.pop() + 35.0))
    numbers = attempts(monkeypatch, 10, *[10] * 20)
    assert make(tmp_path, patience_s=300.0).run() == 1
    assert len(numbers) == 10, "the first attempt got further; nine pauses of 35 s are more than 300 s"


def test_attempts_that_get_further_go_on_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = attempts(monkeypatch, *range(10, 110, 10), last="failed")
    assert make(tmp_path).run() == 1
    assert len(numbers) == 11


def test_a_storage_that_is_down_at_the_end_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts(monkeypatch, last="finished")
    calls = []

    def fetch(storage: object, directory: Path) -> list[str]:
        calls.append(directory)
        if len(calls) < 4:
            raise StorageError("S3 does not answer")
        return ["scores.json"]

    monkeypatch.setattr(launcher_module, "fetch_results", fetch)
    assert make(tmp_path).run() == 0
    assert (len(calls), done(tmp_path)["status"]) == (4, "finished")


def test_a_full_disk_at_the_end_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts(monkeypatch, last="failed")
    calls = []

    def write(directory: Path, end: End) -> None:
        calls.append(end)
        if len(calls) < 3:
            raise OSError("no space left on device")
        write_end(directory, end)

    monkeypatch.setattr(launcher_module, "write_end", write)
    assert make(tmp_path).run() == 1
    assert done(tmp_path) == {"status": "failed", "reason": "at last"}


def test_nothing_is_launched_after_the_training_has_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = attempts(monkeypatch)
    (tmp_path / "results").mkdir()
    write_end(tmp_path / "results", End("finished"))
    assert make(tmp_path).run() == 0
    assert numbers == [] and done(tmp_path)["status"] == "finished"


def test_a_failed_training_may_be_launched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = attempts(monkeypatch, last="failed")
    (tmp_path / "results").mkdir()
    write_end(tmp_path / "results", End("failed", "before"))
    assert make(tmp_path).run() == 1
    assert numbers == [1] and done(tmp_path)["reason"] == "at last"


def test_a_launcher_that_is_not_wanted_does_nothing_and_one_whose_training_has_ended_is_not_wanted_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = attempts(monkeypatch, last="failed")
    wanted = tmp_path / "wanted"
    assert make(tmp_path, wanted_file=wanted).run() == 0
    assert numbers == []
    wanted.touch()
    assert make(tmp_path, wanted_file=wanted).run() == 1
    assert numbers == [1] and not wanted.exists()


def test_a_launcher_that_is_no_longer_wanted_stops_and_leaves_no_end(tmp_path: Path) -> None:
    wanted = tmp_path / "wanted"
    wanted.touch()
    (tmp_path / "hosts").write_text("")
    launcher = make(tmp_path, wanted_file=wanted)
    launcher._nodes.keep = lambda wanted_hosts: wanted.unlink(missing_ok=True)  # type: ignore[method-assign,assignment]
    assert launcher.run() == launcher_module.EXIT_STOPPED
    assert not (tmp_path / "results" / "done.json").exists()


def test_results_that_are_there_already_are_fetched_when_no_worker_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher_module, "LOOK_S", 0.0)
    (tmp_path / "hosts").write_text("")
    (tmp_path / "storage" / "results").mkdir(parents=True)
    (tmp_path / "storage" / "results" / "scores.json").write_text("{}")
    assert make(tmp_path).run() == 0
    assert (tmp_path / "results" / "scores.json").read_text() == "{}"
