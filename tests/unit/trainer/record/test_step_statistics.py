"""The figures of the last steps leave out steps that say nothing about the flavor."""

from __future__ import annotations

from trainer.record.step_statistics import Iteration, Medians, StepStatistics


def test_times_are_medians_without_the_first_steps() -> None:
    statistics = StepStatistics(window=3, warmup_steps=2)
    for seconds in (9.0, 9.0, 7.0, 1.0, 2.0, 6.0):
        statistics.record(Iteration(seconds, seconds / 2, 64, 1000))
    assert statistics.medians() == Medians(3, 2.0, 1.0, 64.0, 1000.0)


def test_a_change_of_the_world_begins_the_window_anew() -> None:
    statistics = StepStatistics(window=50, warmup_steps=1)
    for seconds in (5.0, 1.0, 1.0):
        statistics.record(Iteration(seconds, seconds, 1, 1))
    statistics.begin()
    statistics.record(Iteration(8.0, 8.0, 1, 1))
    assert statistics.medians() == Medians()
