"""The output layer and its loss in matrix tiles come to what the scores in memory come to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd
from numpy.typing import NDArray

from trainer.model.build import build
from trainer.model.kernels import library
from trainer.model.tiles import use_tiles
from trainer.model.transformer import TranslationModel
from trainer.settings.model import ModelSettings

UNITS, SMOOTHING = 64, 0.1
SIZES: dict[str, Any] = {"layers": 2, "units": UNITS, "hidden": 128, "heads": 2}
pytestmark = [
    pytest.mark.needs_tool("g++"),
    pytest.mark.skipif(not use_tiles(), reason="this machine has no matrix tiles (AMX)"),
]

SEVERAL_THREADS = """
import numpy as np, mxnet as mx
from trainer.model.kernels import library
from trainer.model.tiles import use_tiles
from trainer.model.transformer import TranslationModel
assert use_tiles() and library.load()
random = np.random.RandomState(1)
hidden, weight = (mx.nd.array(random.normal(size=(rows, 64))) for rows in (40 * 30, 333))
labels, lengths = mx.nd.array(random.randint(0, 333, (40, 30)), dtype="int32"), mx.nd.full((40,), 30)
options = {"smoothing": 0.1, "gradients": 1, "r_drop": 0}
made = mx.nd.centavo_output_loss(hidden, weight, mx.nd.zeros(333), labels, lengths, **options)
print([float(np.abs(one.asnumpy()).sum()) for one in made])
"""


@dataclass(frozen=True)
class Batch:
    """What the output layer is given: hidden (B * T, units), weight (V, units), bias (V,), labels (B, T), lengths."""

    hidden: Any
    weight: Any
    bias: Any
    labels: Any
    lengths: Any

    @property
    def inputs(self) -> list[Any]:
        return [self.hidden, self.weight, self.bias]


def batch_of(sentences: int, length: int, vocabulary: int, shortest: int = 1) -> Batch:
    random = np.random.RandomState(sentences)
    batch = Batch(
        mx.nd.array(random.normal(size=(sentences * length, UNITS))),
        mx.nd.array(random.normal(size=(vocabulary, UNITS)) * 0.3),
        mx.nd.array(random.normal(size=vocabulary)),
        mx.nd.array(random.randint(0, vocabulary, (sentences, length)), dtype="int32"),
        mx.nd.array(random.randint(shortest, length + 1, sentences)),
    )
    for array in batch.inputs:
        array.attach_grad()
    return batch


def in_tiles(batch: Batch, gradients: int = 1, r_drop: float = 0.0) -> Any:
    options = {"smoothing": SMOOTHING, "gradients": gradients, "r_drop": r_drop}
    return mx.nd.centavo_output_loss(*batch.inputs, batch.labels, batch.lengths, **options)[0]


def in_memory(batch: Batch) -> Any:
    scores = mx.nd.FullyConnected(*batch.inputs, num_hidden=batch.weight.shape[0], flatten=False)
    return mx.nd.centavo_cross_entropy(scores, batch.labels, batch.lengths, smoothing=SMOOTHING)[0]


def twice(batch: Batch) -> Batch:
    """Returns a batch of two different passes over the same labels."""
    other = mx.nd.array(np.random.RandomState(99).normal(size=batch.hidden.shape))
    hidden = mx.nd.concat(batch.hidden, batch.hidden + 0.3 * other, dim=0)
    labels, lengths = (mx.nd.concat(one, one, dim=0) for one in (batch.labels, batch.lengths))
    both = Batch(hidden, batch.weight, batch.bias, labels, lengths)
    hidden.attach_grad()
    return both


def r_drop_in_memory(batch: Batch) -> Any:
    scores = mx.nd.FullyConnected(*batch.inputs, num_hidden=batch.weight.shape[0], flatten=False)
    labels, lengths = (mx.nd.split(one, num_outputs=2, axis=0)[0] for one in (batch.labels, batch.lengths))
    return mx.nd.centavo_r_drop(scores, labels, lengths, smoothing=SMOOTHING, weight=5.0)[0]


def computed(loss_of: Callable[[Batch], Any], batch: Batch) -> tuple[float, list[NDArray[Any]]]:
    """Returns the loss, and the gradients of half of it."""
    with autograd.record():
        loss = loss_of(batch)
        half = loss / 2
    half.backward()
    return float(loss.asscalar()), [array.grad.asnumpy() for array in batch.inputs]


@pytest.fixture(autouse=True)
def loaded() -> None:
    assert library.load()


@pytest.mark.parametrize(
    ("sentences", "length", "vocabulary"),
    [(1, 1, 32), (1, 1, 5), (3, 21, 50), (4, 16, 64), (8, 32, 1000), (9, 65, 777), (40, 13, 333)],
    ids=str,
)
def test_loss_and_gradients_are_those_of_scores_in_memory(sentences: int, length: int, vocabulary: int) -> None:
    batch = batch_of(sentences, length, vocabulary)
    expected, exact = computed(in_memory, batch)
    loss, gradients = computed(in_tiles, batch)
    assert loss == pytest.approx(expected, rel=5e-3)
    for gradient, one in zip(gradients, exact, strict=True):
        assert np.linalg.norm(gradient - one) < 0.01 * np.linalg.norm(one)


@pytest.mark.parametrize(("sentences", "length", "vocabulary"), [(1, 1, 5), (3, 21, 50), (9, 65, 777)], ids=str)
def test_r_drop_and_its_gradients_are_those_of_scores_in_memory(sentences: int, length: int, vocabulary: int) -> None:
    batch = twice(batch_of(sentences, length, vocabulary))
    expected, exact = computed(r_drop_in_memory, batch)
    loss, gradients = computed(partial(in_tiles, r_drop=5.0), batch)
    assert loss == pytest.approx(expected, rel=5e-3)
    for gradient, one in zip(gradients, exact, strict=True):
        assert np.linalg.norm(gradient - one) < 0.015 * np.linalg.norm(one)


def test_r_drop_of_a_batch_without_halves_is_an_error() -> None:
    with pytest.raises(mx.MXNetError, match="must be even"):
        in_tiles(batch_of(3, 5, 100), r_drop=5.0).asscalar()


def test_padding_has_no_part_in_it() -> None:
    batch = batch_of(6, 20, 100)
    loss, gradients = computed(in_tiles, batch)
    padding = np.arange(20)[None, :] >= batch.lengths.asnumpy()[:, None]  # (B, T)
    assert not gradients[0][padding.reshape(-1)].any()
    batch.hidden[:] = mx.nd.where(mx.nd.array(padding.reshape(-1)), mx.nd.ones_like(batch.hidden) * 9, batch.hidden)
    assert computed(in_tiles, batch)[0] == loss


def test_nothing_but_padding_has_no_loss_and_no_gradient() -> None:
    batch = batch_of(2, 5, 40)
    batch.lengths[:] = 0
    loss, gradients = computed(in_tiles, batch)
    assert loss == 0
    assert not any(gradient.any() for gradient in gradients)


def test_a_loss_that_is_only_looked_at_has_no_gradients() -> None:
    batch = batch_of(9, 65, 777)
    loss, gradients = computed(partial(in_tiles, gradients=0), batch)
    assert loss == in_tiles(batch).asscalar()
    assert not any(gradient.any() for gradient in gradients)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_number_that_is_none_is_seen_in_the_loss(wrong: float) -> None:
    """A training that diverges has to be seen."""
    batch = batch_of(3, 10, 100, shortest=10)
    batch.hidden[4, 7] = wrong
    assert not np.isfinite(in_tiles(batch).asscalar())


@pytest.mark.parametrize("wrong", [-1, 100])
def test_a_label_outside_of_the_vocabulary_is_an_error(wrong: int) -> None:
    batch = batch_of(2, 5, 100)
    batch.labels[1, 2] = wrong
    with pytest.raises(mx.MXNetError, match="not in the vocabulary"):
        in_tiles(batch).asscalar()


def test_units_that_do_not_fill_tiles_are_an_error() -> None:
    batch = batch_of(2, 5, 100)
    with pytest.raises(mx.MXNetError, match="multiple of 32"):
        in_tiles(Batch(batch.hidden[:, :24], batch.weight[:, :24], batch.bias, batch.labels, batch.lengths)).asscalar()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_model_in_tiles_learns_as_one_in_float32(norm: str) -> None:
    def computed(precision: str) -> tuple[float, NDArray[Any]]:
        model = build(ModelSettings(**SIZES, dropout=0.0, norm=norm, precision=precision), 777)
        loss, gradient = learned(model)
        smoothed, unsmoothed = model.losses(*sentences())
        assert smoothed == pytest.approx(loss, rel=1e-6)
        assert unsmoothed != smoothed
        return loss, gradient

    assert_alike(computed("bfloat16"), computed("float32"))


def test_a_model_in_tiles_learns_by_r_drop_as_one_in_float32() -> None:
    def computed(precision: str, r_drop: float) -> tuple[float, NDArray[Any]]:
        return learned(build(ModelSettings(**SIZES, dropout=0.3, r_drop=r_drop, precision=precision), 777))

    both = computed("bfloat16", 5.0)
    assert_alike(both, computed("float32", 5.0))
    assert both[0] != pytest.approx(computed("float32", 1.0)[0], rel=1e-3)


def sentences() -> list[Any]:
    random = np.random.RandomState(0)
    ids = mx.nd.array(random.randint(4, 777, (20, 23)), dtype="int32")
    lengths = mx.nd.array(random.randint(3, 23, 20))
    return [ids, lengths, ids, lengths]


def learned(model: TranslationModel) -> tuple[float, NDArray[Any]]:
    """Returns the loss of a step of training, and the embedding's gradient (777, UNITS)."""
    mx.random.seed(1)
    with autograd.record():
        loss, _ = model.loss(*sentences())
    loss.backward()
    embedding = next(one for name, one in sorted(model.parameters().items()) if name.endswith("embedding0_weight"))
    return float(loss.asscalar()), embedding.grad().asnumpy()


def assert_alike(low: tuple[float, NDArray[Any]], exact: tuple[float, NDArray[Any]]) -> None:
    assert low[0] != exact[0]
    assert low[0] == pytest.approx(exact[0], rel=1e-3)
    assert (low[1] * exact[1]).sum() > 0.999 * np.linalg.norm(low[1]) * np.linalg.norm(exact[1])


def test_several_threads_come_to_the_same_and_to_the_same_bits_each_time() -> None:
    def printed(threads: int) -> list[float]:
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, "-W", "ignore", "-c", SEVERAL_THREADS]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return [float(number) for number in done.stdout.strip("[]\n").split(",")]

    assert printed(3) == printed(3) == pytest.approx(printed(1), rel=1e-5)
