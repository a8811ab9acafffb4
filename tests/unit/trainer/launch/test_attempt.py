"""An attempt ends with its ranks, when it is stopped, or when no rank gets any further."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from trainer.launch import attempt as attempt_module
from trainer.launch.attempt import Attempt
from trainer.launch.options import LaunchOptions
from trainer.settings.horovod import HorovodSettings
from trainer.settings.section import section_from


class FakeDriver:
    """A driver whose ranks never end by themselves."""

    problem: str | None = None

    def __init__(self, *given: Any) -> None:
        self.is_over = False
        self.has_ended = False

    def begin(self) -> None:
        pass

    def end(self, timeout_s: float) -> None:
        self.has_ended = True


class FakeNodes:
    """Ranks that made their last step some time ago."""

    def __init__(self, idle_s: float = 0.0, step_s: float = 0.0) -> None:
        self.progressed_at, self._step_s = time.monotonic() - idle_s, step_s

    def longest_step_s(self) -> float:
        return self._step_s


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LaunchOptions:
    monkeypatch.setattr(attempt_module, "Driver", FakeDriver)
    monkeypatch.setattr(attempt_module, "WATCH_S", 0.0)
    return LaunchOptions(tmp_path / "hosts", tmp_path, "attach", "lo")


def make(options: LaunchOptions, nodes: FakeNodes, **horovod: Any) -> Attempt:
    return Attempt(options, section_from(HorovodSettings, horovod), nodes, None)  # type: ignore[arg-type]


def test_an_attempt_in_which_no_rank_gets_further_ends_with_the_reason(options: LaunchOptions) -> None:
    attempt = make(options, FakeNodes(idle_s=1801))
    reason = attempt.run(lambda: None, lambda: None)
    assert reason == "no rank has made a step for 1801 s, in whichever world"
    assert attempt._driver.has_ended  # type: ignore[attr-defined]


def test_an_attempt_that_goes_on_ends_when_it_is_stopped(options: LaunchOptions) -> None:
    seen: list[int] = []
    attempt = make(options, FakeNodes(idle_s=1700))
    reason = attempt.run(lambda: "stopped by hand" if len(seen) == 3 else None, lambda: seen.append(1))
    assert (reason, len(seen)) == ("stopped by hand", 3)


def test_an_attempt_that_cannot_begin_says_why(options: LaunchOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(driver: FakeDriver) -> None:
        raise RuntimeError("Timed out waiting for slots\nat length")

    monkeypatch.setattr(FakeDriver, "begin", too_few)
    assert make(options, FakeNodes()).run(lambda: None, lambda: None) == "Timed out waiting for slots"


@pytest.mark.parametrize(("step_s", "patience_s"), [(0.5, 30.0), (40.0, 120.0)])
def test_votes_are_waited_for_as_long_as_three_steps_take(
    options: LaunchOptions, step_s: float, patience_s: float
) -> None:
    assert make(options, FakeNodes(step_s=step_s))._patience_s() == patience_s
