"""A node that is too small is told from one that is not, before it would die."""

from __future__ import annotations

import numpy as np
import pytest

from trainer.model.build import build
from trainer.settings.model import PRESETS, ModelSettings
from trainer.training.memory_preflight import (
    Estimate,
    estimate,
    largest_share,
    parameter_count,
    shortage,
)


@pytest.mark.parametrize("overrides", [{}, {"layers": 2, "units": 64, "hidden": 96, "heads": 2}])
def test_parameters_are_counted_as_the_model_has_them(overrides: dict[str, int]) -> None:
    settings = ModelSettings(preset="tiny", **overrides)
    parameters = build(settings, 500).parameters().values()
    built = sum(int(np.prod(parameter.shape)) for parameter in parameters)
    assert parameter_count(settings.architecture(), 500) == pytest.approx(built, rel=0.002)


def test_more_of_anything_needs_more() -> None:
    tiny, base = estimate(PRESETS["tiny"], 800, 60), estimate(PRESETS["base"], 800, 60)
    assert base.fixed > tiny.fixed
    assert base.per_token > tiny.per_token
    assert estimate(PRESETS["tiny"], 8000, 60).per_token > tiny.per_token
    assert tiny.total(4096) > tiny.total(1024)
    assert estimate(PRESETS["tiny"], 800, 60, "bfloat16").per_token > tiny.per_token
    sums = estimate(PRESETS["tiny"], 800, 60, accumulates=True)
    assert sums.fixed - tiny.fixed == 4 * parameter_count(PRESETS["tiny"], 800)


def test_a_shortage_tells_both_numbers() -> None:
    assert shortage(100, 100) is None
    reason = shortage(3 * 1024**3, 1024**3)
    assert reason is not None
    assert reason.startswith("out of memory: the training needs about 3,072 MiB here and the node has 1,024 MiB: take")


def test_the_largest_share_is_what_fits() -> None:
    requirement = Estimate(fixed=1000, per_token=10)
    assert largest_share(requirement, 1000 + 10 * 2048, 4096) == pytest.approx(0.5)
    assert largest_share(requirement, 10**9, 4096) is None
    assert largest_share(requirement, 10, 4096) == 0.0
