"""A global batch is cut among the ranks without a sample lost or seen twice."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.data.epoch_plan import EpochPlan
from trainer.data.split import deal, split

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(2, 60)), min_size=1, max_size=200)


SLOW_MACHINE = settings(deadline=None, max_examples=40)


SHARES = st.lists(st.floats(0.05, 10), min_size=1, max_size=8)


def some_lengths(count: int, seed: int = 0) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.randint(1, 40), rng.randint(2, 40)) for _ in range(count)]


@SLOW_MACHINE
@given(LENGTHS, SHARES)
def test_a_split_gives_each_sample_to_exactly_one_rank(lengths: list[tuple[int, int]], shares: list[float]) -> None:
    indices = list(range(len(lengths)))[::-1]
    parts = split(indices, lengths, shares)
    assert len(parts) == len(shares)
    assert [index for part in parts for index in part] == indices
    if len(indices) >= len(shares):
        assert all(len(part) for part in parts)


def test_a_split_is_in_proportion_to_the_shares() -> None:
    lengths = some_lengths(3_000)
    parts = split(range(3_000), lengths, [1.0, 2.5, 0.5])
    tokens = np.array([sum(lengths[index][1] for index in part) for part in parts])
    assert tokens / tokens.sum() == pytest.approx([0.25, 0.625, 0.125], abs=0.005)


def test_shares_that_are_not_positive_are_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        split([0, 1], [(1, 2), (1, 2)], [1.0, 0.0])


@SLOW_MACHINE
@given(st.lists(st.integers(1, 8), min_size=1, max_size=40), st.integers(0, 3))
def test_whoever_joins_and_leaves_an_epoch_sees_each_sample_exactly_once(sizes: list[int], seed: int) -> None:
    lengths = some_lengths(150, seed)
    plan = EpochPlan(lengths, 300, seed, 0)
    seen: list[int] = []
    for cursor, batch in enumerate(plan.batches):
        ranks = sizes[cursor % len(sizes)]
        for rank in range(ranks):  # each rank makes its own plan and takes its own part
            part = split(EpochPlan(lengths, 300, seed, 0).batches[cursor], lengths, [1.0 + rank] * ranks)[rank]
            seen += part.tolist()
        assert sorted(seen[-len(batch) :]) == sorted(batch)
    assert sorted(seen) == list(range(150))


def test_sentences_are_dealt_out_in_proportion_to_speed_and_each_rank_gets_short_and_long_ones() -> None:
    lengths = [1 + number % 40 for number in range(400)]
    parts = deal(lengths, [0.6, 0.3, 0.1])
    assert sorted(index for part in parts for index in part) == list(range(400))
    work = [sum(lengths[index] for index in part) / sum(lengths) for part in parts]
    assert work == pytest.approx([0.6, 0.3, 0.1], abs=0.01)
    assert all(min(lengths[index] for index in part) < 8 for part in parts)
    assert all(part == sorted(part) for part in parts)


def test_a_very_slow_rank_is_dealt_nothing_where_the_others_are_done_before_it() -> None:
    assert deal([30, 20, 10], [100.0, 1.0]) == [[0, 1, 2], []]
