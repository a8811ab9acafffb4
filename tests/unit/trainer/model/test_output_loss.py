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
from trainer.settings.model import ModelSettings

UNITS, SMOOTHING = 64, 0.1
pytestmark = [
    pytest.mark.needs_tool("g++"),
    pytest.mark.skipif(not use_tiles(), reason="this machine has no matrix tiles (AMX)"),
]

SEVERAL_THREADS = """
import numpy as np, mxnet as mx
from trainer.model.kernels import library
from trainer.model.tiles import use_tiles
assert use_tiles() and library.load()
random = np.random.RandomState(1)
hidden, weight = (mx.nd.array(random.normal(size=(rows, 64))) for rows in (40 * 30, 333))
labels, lengths = mx.nd.array(random.randint(0, 333, (40, 30)), dtype="int32"), mx.nd.full((40,), 30)
made = mx.nd.centavo_output_loss(hidden, weight, mx.nd.zeros(333), labels, lengths, smoothing=0.1, gradients=1)
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


def in_tiles(batch: Batch, gradients: int = 1) -> Any:
    options = {"smoothing": SMOOTHING, "gradients": gradients}
    return mx.nd.centavo_output_loss(*batch.inputs, batch.labels, batch.lengths, **options)[0]


def in_memory(batch: Batch) -> Any:
    scores = mx.nd.FullyConnected(*batch.inputs, num_hidden=batch.weight.shape[0], flatten=False)
    return mx.nd.centavo_cross_entropy(scores, batch.labels, batch.lengths, smoothing=SMOOTHING)[0]


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
    sizes = {"layers": 2, "units": UNITS, "hidden": 128, "heads": 2, "dropout": 0.0, "norm": norm}
    random = np.random.RandomState(0)
    ids = mx.nd.array(random.randint(4, 777, (20, 23)), dtype="int32")
    lengths = mx.nd.array(random.randint(3, 23, 20))
    computed = {}
    for precision in ("float32", "bfloat16"):
        made = build(ModelSettings(**sizes, precision=precision), 777)
        with autograd.record():
            loss, _ = made.loss(ids, lengths, ids, lengths)
        loss.backward()
        smoothed, unsmoothed = made.losses(ids, lengths, ids, lengths)
        assert smoothed == pytest.approx(float(loss.asscalar()), rel=1e-6)
        assert unsmoothed != smoothed
        embedding = next(one for name, one in sorted(made.parameters().items()) if name.endswith("embedding0_weight"))
        computed[precision] = float(loss.asscalar()), embedding.grad().asnumpy()
    (exact, gradient), (loss, near) = computed["float32"], computed["bfloat16"]
    assert loss != exact
    assert loss == pytest.approx(exact, rel=1e-3)
    assert (near * gradient).sum() > 0.999 * np.linalg.norm(near) * np.linalg.norm(gradient)


def test_several_threads_come_to_the_same_and_to_the_same_bits_each_time() -> None:
    def printed(threads: int) -> list[float]:
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, "-W", "ignore", "-c", SEVERAL_THREADS]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return [float(number) for number in done.stdout.strip("[]\n").split(",")]

    assert printed(3) == printed(3) == pytest.approx(printed(1), rel=1e-5)
