"""The brake stretches computing to processor time / speed, and nothing else."""

from __future__ import annotations

import math

import pytest

from trainer.node.brake import CORE_VARIABLE, Brake, emulated_core_tokens_per_s, emulated_speed


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


def test_on_a_faster_core_a_pass_takes_as_long_as_on_the_emulated_one() -> None:
    for least_s, took_s in ((0.3, 1.2), (0.05, 0.4)):
        time = FakeTime()
        with Brake(0.25, lambda: time.wall, lambda: time.processor, time.sleep, least_s=least_s) as braked:  # noqa: B023
            time.compute(0.1)
        assert braked.compute_time_s == pytest.approx(took_s)


def test_the_environment_says_how_fast_the_emulated_core_is() -> None:
    assert emulated_core_tokens_per_s({}) == emulated_core_tokens_per_s({CORE_VARIABLE: " "}) == math.inf
    assert emulated_core_tokens_per_s({CORE_VARIABLE: "7000"}) == 7000.0


@pytest.mark.parametrize("text", ["fast", "0", "-1", "nan"])
def test_a_core_speed_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=CORE_VARIABLE):
        emulated_core_tokens_per_s({CORE_VARIABLE: text})


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
