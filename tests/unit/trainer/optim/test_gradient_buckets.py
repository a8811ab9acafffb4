"""Gradients side by side: the same numbers as gradients by themselves, and nothing between them."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

from trainer.model import build as model
from trainer.model.kernels import processor
from trainer.model.transformer import TranslationModel
from trainer.optim.gradient_buckets import GradientBuckets, grouped
from trainer.settings.model import ModelSettings, Precision

SMALL = ModelSettings(layers=1, units=24, hidden=40, heads=3, dropout=0.0, max_length=16)
VOCABULARY = 50
bfloat16 = pytest.param("bfloat16", marks=pytest.mark.skipif(not processor.has("avx512bw"), reason="no AVX-512 here"))


def made(precision: Precision = "float32") -> tuple[TranslationModel, list[Any]]:
    built = model.build(SMALL.model_copy(update={"precision": precision}), VOCABULARY)
    return built, [parameter for _, parameter in sorted(built.parameters().items())]


def backward(built: TranslationModel, seed: int = 0) -> None:
    rng = np.random.RandomState(seed)
    source, target = (mx.nd.array(rng.randint(4, VOCABULARY, (3, 7)), dtype="int32") for _ in range(2))
    lengths = mx.nd.full((3,), 7)
    with autograd.record():
        loss, _ = built.loss(source, lengths, target, lengths)
    loss.backward()


def gradients(parameters: list[Any]) -> list[Any]:
    return [parameter.grad().asnumpy().copy() for parameter in parameters]


@pytest.mark.parametrize("limit_mb", [0, 1])
def test_gradients_in_buckets_are_those_by_themselves(limit_mb: int) -> None:
    built, parameters = made()
    backward(built)
    expected = gradients(parameters)
    buckets = GradientBuckets(parameters, limit_mb)
    backward(built)
    for found, known in zip(gradients(parameters), expected, strict=True):
        np.testing.assert_array_equal(found, known)
    squares = sum(float((known.astype("float64") ** 2).sum()) for known in expected)
    in_buckets = sum(float((bucket.asnumpy().astype("float64") ** 2).sum()) for bucket in buckets.arrays)
    assert in_buckets == pytest.approx(squares, rel=1e-9), "a bucket has all of its gradients, and nothing else"
    assert len(buckets.arrays) == (1 if limit_mb else len(parameters))


def test_what_is_done_to_a_bucket_is_done_to_its_gradients() -> None:
    built, parameters = made()
    buckets = GradientBuckets(parameters, 1)
    backward(built)
    before = gradients(parameters)
    for bucket in buckets.arrays:
        bucket[:] = 2 * bucket
    for found, known in zip(gradients(parameters), before, strict=True):
        np.testing.assert_array_equal(found, 2 * known)
    buckets.clear()
    assert not any(found.any() for found in gradients(parameters))


@pytest.mark.parametrize("precision", ["float32", bfloat16])
def test_gradients_of_several_backward_passes_add_up(precision: Precision) -> None:
    built, parameters = made(precision)
    backward(built, 1)
    first = gradients(parameters)
    backward(built, 2)
    second = gradients(parameters)
    assert all(gradient.any() for gradient in first)
    buckets = GradientBuckets(parameters, 1)
    for _ in range(2):
        for seed in (1, 2):
            backward(built, seed)
            buckets.set_aside()
        buckets.take_back()
        for found, one, other in zip(gradients(parameters), first, second, strict=True):
            np.testing.assert_allclose(found, one + other, rtol=1e-4, atol=1e-6)


def test_a_sum_that_was_begun_is_forgotten_with_the_gradients() -> None:
    built, parameters = made()
    buckets = GradientBuckets(parameters, 1)
    backward(built, 1)
    buckets.set_aside()
    buckets.renew()
    backward(built, 2)
    expected = gradients(parameters)
    buckets.set_aside()
    buckets.take_back()
    for found, known in zip(gradients(parameters), expected, strict=True):
        np.testing.assert_array_equal(found, known)


def test_renewed_buckets_take_the_next_gradients() -> None:
    built, parameters = made()
    buckets = GradientBuckets(parameters, 1)
    backward(built)
    expected, old = gradients(parameters), buckets.arrays[0]
    buckets.renew()
    assert not any(found.any() for found in gradients(parameters))
    backward(built)
    old[:] = 7
    for found, known in zip(gradients(parameters), expected, strict=True):
        np.testing.assert_array_equal(found, known)


def test_groups_keep_the_order_and_the_limit() -> None:
    assert grouped([4, 4, 9, 1, 2, 8], lambda size: size, 8) == [[4, 4], [9], [1, 2], [8]]
    assert grouped([3, 1], lambda size: size, 0) == [[3], [1]]
