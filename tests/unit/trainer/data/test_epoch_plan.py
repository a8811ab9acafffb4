"""The batches of an epoch hold every sample once."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.data.epoch_plan import EpochPlan, batches_of

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(2, 60)), min_size=1, max_size=200)


SLOW_MACHINE = settings(deadline=None, max_examples=40)


def batches(plan: EpochPlan) -> list[list[int]]:
    return [batch.tolist() for batch in plan.batches]


def some_lengths(count: int, seed: int = 0) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.randint(1, 40), rng.randint(2, 40)) for _ in range(count)]


@SLOW_MACHINE
@given(LENGTHS, st.integers(1, 500), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_has_each_sample_exactly_once(
    lengths: list[tuple[int, int]], batch_tokens: int, seed: int, epoch: int
) -> None:
    planned = batches(EpochPlan(lengths, batch_tokens, seed, epoch))
    assert sorted(index for batch in planned for index in batch) == list(range(len(lengths)))
    assert all(planned)


@SLOW_MACHINE
@given(LENGTHS, st.integers(1, 500))
def test_no_batch_has_more_tokens_than_allowed_but_for_a_single_long_sentence(
    lengths: list[tuple[int, int]], batch_tokens: int
) -> None:
    for batch in EpochPlan(lengths, batch_tokens, 1, 0, multiple=8).batches:
        longest = max(-(-max(lengths[index]) // 8) * 8 for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= batch_tokens


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    lengths = some_lengths(500)
    np.random.seed(1)
    first = batches(EpochPlan(lengths, 400, seed=7, epoch=3))
    np.random.seed(2)
    assert batches(EpochPlan(lengths, 400, seed=7, epoch=3)) == first
    assert batches(EpochPlan(lengths, 400, seed=7, epoch=4)) != first
    assert batches(EpochPlan(lengths, 400, seed=8, epoch=3)) != first
    assert batches(EpochPlan(lengths, 400, seed=7, epoch=3, shard=1)) != first


@SLOW_MACHINE
@given(LENGTHS, st.integers(1, 500), st.integers(1, 9), st.one_of(st.none(), st.integers(1, 20)))
def test_every_epoch_has_as_many_batches_as_the_lengths_alone_tell(
    lengths: list[tuple[int, int]], batch_tokens: int, multiple: int, most: int | None
) -> None:
    counts = np.array(sorted(Counter(map(max, lengths)).items()), dtype=np.int64)
    told = batches_of(counts, batch_tokens, multiple, most)
    assert {len(EpochPlan(lengths, batch_tokens, 1, epoch, 0, multiple, most)) for epoch in range(3)} == {told}


@SLOW_MACHINE
@given(LENGTHS, st.integers(1, 500), st.integers(0, 5), st.data())
def test_an_epoch_can_have_a_number_of_batches(
    lengths: list[tuple[int, int]], batch_tokens: int, epoch: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(lengths)))
    plan = EpochPlan(lengths, batch_tokens, 1, epoch, count=count)
    assert len(plan) == count
    assert sorted(index for batch in plan.batches for index in batch) == list(range(len(lengths)))
    for batch in plan.batches:
        longest = max(-(-max(lengths[index]) // 8) * 8 for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= plan.batch_tokens


def test_a_number_of_batches_raises_the_tokens_no_more_than_it_takes() -> None:
    lengths = some_lengths(2_000)
    count = len(EpochPlan(lengths, 1_000, 1, 0))
    assert EpochPlan(lengths, 1_000, 1, 1, count=count).batch_tokens == 1_000
    longer = [(source * 2, target * 2) for source, target in lengths]
    assert 1_800 < EpochPlan(longer, 1_000, 1, 0, count=count).batch_tokens < 2_100


def test_a_number_of_batches_that_the_samples_cannot_make_is_refused() -> None:
    with pytest.raises(ValueError, match="3 samples cannot be 4 batches"):
        EpochPlan([(1, 2)] * 3, 100, 1, 0, count=4)
    with pytest.raises(ValueError, match="3 samples cannot be 1 batches"):
        EpochPlan([(1, 2)] * 3, 100, 1, 0, max_sentences=2, count=1)


def test_sentences_of_like_length_are_together() -> None:
    lengths = some_lengths(2_000)
    padded = filled = 0
    for batch in EpochPlan(lengths, 1_000, 1, 0, multiple=1).batches:
        filled += sum(max(lengths[index]) for index in batch)
        padded += len(batch) * max(max(lengths[index]) for index in batch)
    assert filled / padded > 0.9


def test_a_batch_may_be_bounded_in_sentences() -> None:
    assert max(map(len, EpochPlan(some_lengths(300), 10_000, 1, 0, max_sentences=16).batches)) == 16


def test_no_samples_and_no_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="no sample"):
        EpochPlan([], 100, 1, 0)
    with pytest.raises(ValueError, match="batch_tokens"):
        EpochPlan([(1, 2)], 0, 1, 0)
