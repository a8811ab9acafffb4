"""The learning rate rises linearly and falls with the inverse square root."""

from __future__ import annotations

import pytest

from trainer.optim.learning_rate import learning_rate


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
