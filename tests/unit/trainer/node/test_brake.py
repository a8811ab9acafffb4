"""The brake stretches computing to processor time / speed, and nothing else."""

from __future__ import annotations

import pytest

from trainer.node.brake import Brake, emulated_speed


class FakeTime:
    """Clocks that move when a test computes, waits or sleeps."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0
        self.slept = 0.0

    def compute(self, seconds: float) -> None:
        self.wall += seconds
        self.processor += seconds

    def wait_for_a_core(self, seconds: float) -> None:
        self.wall += seconds

    def sleep(self, seconds: float) -> None:
        self.wall += seconds
        self.slept += seconds


def brake(time: FakeTime, speed: float | None) -> Brake:
    return Brake(speed, lambda: time.wall, lambda: time.processor, time.sleep)


def test_computing_takes_processor_time_divided_by_the_speed() -> None:
    time = FakeTime()
    with brake(time, 0.25) as braked:
        time.compute(0.1)
    assert braked.compute_time_s == pytest.approx(0.4)


def test_waiting_for_a_core_disappears_in_the_sleep() -> None:
    time = FakeTime()
    with brake(time, 0.25) as braked:
        time.compute(0.1)
        time.wait_for_a_core(0.2)
    assert braked.compute_time_s == pytest.approx(0.4)
    assert time.slept == pytest.approx(0.1)


def test_without_a_speed_nothing_is_braked() -> None:
    time = FakeTime()
    with brake(time, None) as braked:
        time.compute(0.1)
    assert (braked.compute_time_s, time.slept) == (pytest.approx(0.1), 0.0)


def test_a_failure_is_not_held_up() -> None:
    time = FakeTime()
    with pytest.raises(RuntimeError), brake(time, 0.01):
        time.compute(1.0)
        raise RuntimeError
    assert time.slept == 0.0


def test_the_speed_comes_from_the_environment() -> None:
    assert emulated_speed({}) is None
    assert emulated_speed({"CENTAVO_EMULATED_SPEED": ""}) is None
    assert emulated_speed({"CENTAVO_EMULATED_SPEED": "0.25"}) == 0.25


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "fast", "nan"])
def test_a_speed_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CENTAVO_EMULATED_SPEED"):
        emulated_speed({"CENTAVO_EMULATED_SPEED": text})
