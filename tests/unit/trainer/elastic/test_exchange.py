"""What ranks exchange in a real world of two: sums that fit into float16 whatever the batch."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import mxnet as mx
import pytest

from tests.support.ranks import run_world
from trainer.elastic.exchange import MEAN_SCALE, exchanged_bytes, scale_of

SUMS = """
import json, sys
import horovod.mxnet as hvd, mxnet as mx, numpy as np
from trainer.elastic.exchange import sum_gradients
hvd.init()
means = np.array(json.loads(sys.argv[1]), dtype="float32")
buckets = [mx.nd.array(means * tokens / 2) for tokens in json.loads(sys.argv[2])]
sum_gradients(buckets, sys.argv[3], max(json.loads(sys.argv[2])))
print(json.dumps([bucket.asnumpy().astype("float64").tolist() for bucket in buckets]))
"""
MEANS = [40.0, -3.0, 0.1, -1e-3, 1e-6]
TOKENS = [1_000, 65_536, 25_000_000]


def sums(compression: str, tokens: list[int], means: list[float]) -> list[list[Any]]:
    """Returns what two ranks make of the gradients of `tokens` tokens with these means, for each of `tokens`."""
    arguments = [json.dumps(means), json.dumps(tokens), compression]
    codes, outputs, errors = run_world(2, lambda rank: [sys.executable, "-W", "ignore", "-c", SUMS, *arguments])
    assert codes == [0, 0], errors
    assert outputs[0] == outputs[1], "all ranks have the same sums"
    return list(json.loads(outputs[0]))


def test_a_batch_of_any_size_travels_as_float16() -> None:
    found = sums("fp16", [max(TOKENS)], MEANS)
    assert found[0] == pytest.approx([mean * max(TOKENS) for mean in MEANS], rel=2e-3)


def test_gradients_that_are_not_compressed_are_exact() -> None:
    found = sums("none", TOKENS, [0.75, -3.0])
    assert found == [[0.75 * tokens, -3.0 * tokens] for tokens in TOKENS]


def test_what_does_not_fit_shows_as_infinite() -> None:
    assert not math.isfinite(sums("fp16", [1024], [70.0])[0][0])


@pytest.mark.parametrize("tokens", [0, 1, 2, 1023, 1024, 1025, 10**9])
def test_the_scale_is_a_power_of_two_that_is_close_to_that_of_a_mean(tokens: int) -> None:
    scale = scale_of(tokens)
    assert math.frexp(scale)[0] == 0.5
    assert MEAN_SCALE / 2 < scale * max(1, tokens) <= MEAN_SCALE


@pytest.mark.parametrize(("compression", "of_each"), [("none", 4), ("fp16", 2)])
def test_gradients_travel_with_two_or_four_bytes_an_element(compression: str, of_each: int) -> None:
    buckets = [mx.nd.zeros((3,)), mx.nd.zeros((5,))]
    assert exchanged_bytes(buckets, compression) == 8 * of_each
