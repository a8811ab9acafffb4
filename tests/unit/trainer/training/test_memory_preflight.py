"""A node that is too small is told from one that is not, before it would die."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trainer.model.transformer import PRESETS, ModelSettings, build
from trainer.training.memory_preflight import (
    Estimate,
    available_bytes,
    estimate,
    is_scarce,
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
    assert reason == "out of memory: the training needs about 3,072 MiB here and the node has 1,024 MiB"


def test_the_largest_share_is_what_fits() -> None:
    requirement = Estimate(fixed=1000, per_token=10)
    assert largest_share(requirement, 1000 + 10 * 2048, 4096) == pytest.approx(0.5)
    assert largest_share(requirement, 10**9, 4096) is None
    assert largest_share(requirement, 10, 4096) == 0.0


def test_what_is_available_is_the_smallest_of_what_is_known(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 900 kB\nMemAvailable:     800 kB\n")
    assert available_bytes(7, {}, meminfo, tmp_path) == 800 * 1024 + 7
    (tmp_path / "memory.max").write_text("500000\n")
    (tmp_path / "memory.current").write_text("100000\n")
    assert available_bytes(7, {}, meminfo, tmp_path) == 400_007
    assert available_bytes(7, {"CENTAVO_EMULATED_MEMORY_BYTES": "1000"}, meminfo, tmp_path) == 1000
    (tmp_path / "memory.max").write_text("max\n")
    assert available_bytes(7, {}, meminfo, tmp_path) == 800 * 1024 + 7


def test_memory_is_scarce_when_a_process_nears_what_it_may_have() -> None:
    assert is_scarce(resident=7_600, available=10_000)
    assert not is_scarce(resident=7_400, available=10_000)
