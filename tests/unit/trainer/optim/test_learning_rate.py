"""The learning rate rises linearly, and then follows its schedule."""

from __future__ import annotations

import math
from typing import Any

import pytest

from trainer.optim import learning_rate as rates_of
from trainer.settings.optimizer import OptimizerSettings
from trainer.settings.section import SettingsError, section_from
from trainer.settings.training import Settings


def learning_rate(step: int, peak: float, warmup: int, last: int | None = None, **options: Any) -> float:
    return rates_of.learning_rate(step, OptimizerSettings(learning_rate=peak, warmup_steps=warmup, **options), last)


def test_the_peak_is_reached_when_the_warm_up_ends() -> None:
    rates = [learning_rate(step, 0.005, 2000) for step in range(1, 8001)]
    assert max(rates) == rates[1999] == 0.005
    assert rates[999] == pytest.approx(0.0025)
    assert rates[7999] == pytest.approx(0.0025)


def test_it_is_the_formula_of_the_paper() -> None:
    units, warmup = 512, 4000
    peak = units**-0.5 * warmup**-0.5
    for step in (1, 100, 4000, 4001, 100_000):
        paper = units**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert learning_rate(step, peak, warmup) == pytest.approx(paper)


def test_without_warm_up_it_falls_from_the_first_step() -> None:
    assert learning_rate(1, 0.1, 0) == 0.1
    assert learning_rate(4, 0.1, 0) == pytest.approx(0.05)


def test_there_is_no_update_zero() -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        learning_rate(0, 0.1, 10)


def test_a_cosine_ends_at_the_final_rate_and_stays_there() -> None:
    cosine = {"schedule": "cosine", "final_learning_rate": 0.01, "decay_steps": 300}
    assert learning_rate(50, 0.1, 100, **cosine) == pytest.approx(0.05)
    assert learning_rate(100, 0.1, 100, **cosine) == pytest.approx(0.1)
    assert learning_rate(200, 0.1, 100, **cosine) == pytest.approx(0.055)
    assert learning_rate(150, 0.1, 100, **cosine) == pytest.approx(0.01 + 0.045 * (1 + math.cos(math.pi / 4)))
    assert learning_rate(300, 0.1, 100, **cosine) == learning_rate(999, 0.1, 100, **cosine) == pytest.approx(0.01)


def test_a_cosine_ends_with_the_training_where_nothing_else_is_said() -> None:
    assert learning_rate(400, 0.1, 0, last=400, schedule="cosine") == pytest.approx(0.0)
    assert learning_rate(200, 0.1, 0, last=400, schedule="cosine") == pytest.approx(0.05, rel=0.01)


def test_a_constant_rate_is_warmed_up_to() -> None:
    rates = [learning_rate(step, 0.1, 4, schedule="constant") for step in (1, 2, 4, 5, 9999)]
    assert rates == pytest.approx([0.025, 0.05, 0.1, 0.1, 0.1])


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        ({"decay_steps": 5}, "optimizer: decay_steps belongs to schedule: cosine"),
        ({"schedule": "constant", "final_learning_rate": 1e-4}, "final_learning_rate belongs to schedule: cosine"),
        ({"schedule": "cosine"}, "set optimizer.decay_steps or stop.steps"),
        ({"schedule": "cosine", "decay_steps": 400}, "ends at update 400, within optimizer.warmup_steps"),
        ({"schedule": "cosine", "decay_steps": 500, "final_learning_rate": 1.0}, "final_learning_rate .* is above"),
        ({"schedule": "linear"}, "optimizer.schedule: must be one of inverse_sqrt, cosine, constant"),
    ],
)
def test_schedules_that_cannot_be_are_refused(optimizer: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        section_from(Settings, {"stop": {"tokens": 5}, "optimizer": optimizer})
