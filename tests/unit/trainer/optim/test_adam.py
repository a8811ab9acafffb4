"""Adam: the same bits whether fused or not, so that replicas on nodes of different kinds stay equal."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import gluon

from trainer.model.kernels import library
from trainer.optim.adam import Adam
from trainer.optim.gradient_norm import global_norm

SHAPES = [(1_003,), (17, 64), (1,)]


def parameters() -> list[Any]:
    rng = np.random.RandomState(1)
    made = []
    for number, shape in enumerate(SHAPES):
        parameter = gluon.Parameter(f"p{number}", shape=shape)
        parameter.initialize()
        parameter.set_data(mx.nd.array(rng.standard_normal(shape)))
        made.append(parameter)
    return made


def updated(updates: int = 4) -> list[Any]:
    """Returns weights, means and variances after some updates."""
    those = parameters()
    adam, rng = Adam(those, 0.9, 0.98, 1e-9), np.random.RandomState(2)
    for update in range(updates):
        for parameter in those:
            parameter.grad()[:] = mx.nd.array(rng.standard_normal(parameter.shape) * 10.0 ** -(2 * update))
        adam.update(1.3e-3 * (update + 1), 1 / 4097)
    arrays = [*(parameter.data() for parameter in those), *adam.means, *adam.variances]
    return [array.asnumpy() for array in arrays]


def test_an_update_is_that_of_the_papers_second_section() -> None:
    expected = parameters()[1].data().asnumpy().astype("float64")
    mean = variance = np.zeros_like(expected)
    rng = np.random.RandomState(2)
    for update in range(4):
        drawn = [rng.standard_normal(shape) * 10.0 ** -(2 * update) / 4097 for shape in SHAPES][1]
        mean, variance = 0.9 * mean + 0.1 * drawn, 0.98 * variance + 0.02 * drawn**2
        correction = np.sqrt(1 - 0.98 ** (update + 1)) / (1 - 0.9 ** (update + 1))
        expected -= 1.3e-3 * (update + 1) * correction * mean / (np.sqrt(variance) + 1e-9)
    np.testing.assert_allclose(updated()[1], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.needs_tool("g++")
def test_the_fused_update_has_the_bits_of_mxnets(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = updated()
    monkeypatch.setattr(library, "load", lambda: False)
    for found, expected in zip(fused, updated(), strict=True):
        np.testing.assert_array_equal(found.view("int32"), expected.view("int32"))


def test_a_gradient_that_is_no_number_stays_one() -> None:
    those = parameters()
    those[1].grad()[:] = float("nan")
    Adam(those, 0.9, 0.98, 1e-9).update(1e-3, 1.0)
    assert np.isnan(those[1].data().asnumpy()).all()
    assert np.isfinite(those[0].data().asnumpy()).all()


def test_the_norm_is_of_all_arrays_together() -> None:
    assert global_norm([mx.nd.array([3.0]), mx.nd.array([[0.0, 4.0]])]) == pytest.approx(5.0)


def test_the_norm_of_a_large_array_is_as_exact_as_that_of_a_small_one() -> None:
    large = mx.nd.random.normal(shape=(6_000_000,))
    assert global_norm([large]) == pytest.approx(float(np.linalg.norm(large.asnumpy().astype(np.float64))), rel=1e-4)
