"""The controller's clock, while a person sets the machine's."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from controller.domain.errors import StoppedError
from controller.edges.clock import SystemClock

HOUR_S = 3600.0


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_the_time_goes_on_when_the_machines_clock_is_set(step_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, real = SystemClock(), time.time
    before = clock.now()
    assert before == pytest.approx(real(), abs=1.0) and clock.machine_ahead_s() == pytest.approx(0.0, abs=1.0)
    monkeypatch.setattr(time, "time", lambda: real() + step_s)
    assert 0.0 <= clock.now() - before < 60.0
    assert clock.machine_ahead_s() == pytest.approx(step_s, abs=60.0)


def test_a_wait_lasts_as_long_as_it_is_to_by_a_clock_that_nobody_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, real, began = SystemClock(), time.time, time.monotonic()
    monkeypatch.setattr(time, "time", lambda: real() - HOUR_S)
    clock.sleep(0.05)
    assert 0.05 <= time.monotonic() - began < 60.0
    clock.sleep(-1.0)


def test_a_wait_ends_when_the_machine_has_slept_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = SystemClock(), [0.0]
    real = time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda kind: real(kind) + slept[0])
    monkeypatch.setattr("controller.edges.clock.LONGEST_WAIT_S", 0.01)
    threading.Timer(0.05, lambda: slept.__setitem__(0, HOUR_S)).start()
    clock.sleep(HOUR_S)


def test_a_signal_ends_a_wait_at_once_and_those_to_come() -> None:
    clock = SystemClock()
    with clock.listening():
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
        with pytest.raises(StoppedError):
            clock.sleep(HOUR_S)
        assert clock.is_stopping()
        with pytest.raises(StoppedError):
            clock.sleep(0.0)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1.0)
