"""The order of samples, their split among ranks, the arrays made of them, and making them ahead of time."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.data.batches import EpochPlan, Prefetcher, collate, encode_pairs, split

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(2, 60)), min_size=1, max_size=200)
SLOW_MACHINE = settings(deadline=None, max_examples=40)
SHARES = st.lists(st.floats(0.05, 10), min_size=1, max_size=8)


def some_lengths(count: int, seed: int = 0) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.randint(1, 40), rng.randint(2, 40)) for _ in range(count)]


@SLOW_MACHINE
@given(LENGTHS, st.integers(1, 500), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_has_each_sample_exactly_once(
    lengths: list[tuple[int, int]], batch_tokens: int, seed: int, epoch: int
) -> None:
    batches = EpochPlan(lengths, batch_tokens, seed, epoch).batches
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(batches)


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
    first = EpochPlan(lengths, 400, seed=7, epoch=3).batches
    np.random.seed(2)
    assert EpochPlan(lengths, 400, seed=7, epoch=3).batches == first
    assert EpochPlan(lengths, 400, seed=7, epoch=4).batches != first
    assert EpochPlan(lengths, 400, seed=8, epoch=3).batches != first


def test_every_epoch_has_the_same_number_of_batches() -> None:
    lengths = some_lengths(500)
    assert len({len(EpochPlan(lengths, 400, 1, epoch)) for epoch in range(5)}) == 1


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


@SLOW_MACHINE
@given(LENGTHS, SHARES)
def test_a_split_gives_each_sample_to_exactly_one_rank(lengths: list[tuple[int, int]], shares: list[float]) -> None:
    indices = list(range(len(lengths)))[::-1]
    parts = split(indices, lengths, shares)
    assert len(parts) == len(shares)
    assert [index for part in parts for index in part] == indices
    if len(indices) >= len(shares):
        assert all(parts)


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
            seen += split(EpochPlan(lengths, 300, seed, 0).batches[cursor], lengths, [1.0 + rank] * ranks)[rank]
        assert sorted(seen[-len(batch) :]) == sorted(batch)
    assert sorted(seen) == list(range(150))


def test_collate_pads_and_counts() -> None:
    batch = collate([([5, 3], [2, 6, 7, 3]), ([5, 6, 7, 8, 3], [2, 6, 3])], pad_id=0, multiple=4)
    assert batch.src.tolist() == [[5, 3, 0, 0, 0, 0, 0, 0], [5, 6, 7, 8, 3, 0, 0, 0]]
    assert batch.tgt.tolist() == [[2, 6, 7, 3, 0], [2, 6, 3, 0, 0]]
    assert (batch.src.dtype, batch.src_len.dtype) == (np.int32, np.float32)
    assert (batch.src_len.tolist(), batch.tgt_len.tolist()) == ([2, 5], [4, 3])
    assert batch.target_tokens == 5
    assert batch.padding_share == pytest.approx(12 / 26)


def test_collate_makes_few_shapes() -> None:
    samples = [([4] * length, [2, *[4] * length, 3]) for length in range(1, 41)]
    assert len({collate([sample], 0).src.shape for sample in samples}) == 5


def test_collate_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        collate([], 0)


class Letters:
    bos_id, eos_id = 2, 3

    def encode(self, sentence: str) -> list[int]:
        return [ord(letter) for letter in sentence]


def test_pairs_are_encoded_with_their_ends_and_long_ones_counted() -> None:
    encoded = encode_pairs(Letters(), [("ab", "c"), ("a" * 20, "b"), ("a", "b" * 20)], max_tokens=10)
    assert encoded.samples == [([97, 98, 3], [2, 99, 3])]
    assert (encoded.lengths, encoded.too_long) == ([(3, 3)], 2)


def test_items_come_in_order_and_end() -> None:
    assert list(Prefetcher(lambda index: index if index < 20 else None, start=3)) == list(range(3, 20))


def test_items_are_made_ahead_but_no_more_than_depth() -> None:
    made: list[int] = []
    third = threading.Event()

    def make(index: int) -> int:
        made.append(index)
        if index == 2:
            third.set()
        return index

    prefetcher = Prefetcher(make, depth=2)
    assert third.wait(timeout=10)
    prefetcher.close()
    assert made == [0, 1, 2]


def test_repositioning_goes_on_elsewhere_with_new_items() -> None:
    scale = [1]
    prefetcher: Prefetcher[int] = Prefetcher(lambda index: index * scale[0])
    assert [next(prefetcher) for _ in range(3)] == [0, 1, 2]
    scale[0] = 10
    prefetcher.reposition(7)
    assert [next(prefetcher) for _ in range(3)] == [70, 80, 90]
    prefetcher.close()


def test_an_error_is_raised_where_its_item_would_have_come() -> None:
    def make(index: int) -> int:
        if index == 2:
            raise KeyError("sample")
        return index

    prefetcher = Prefetcher(make)
    assert [next(prefetcher), next(prefetcher)] == [0, 1]
    for _ in range(2):
        with pytest.raises(KeyError, match="sample"):
            next(prefetcher)


def test_the_end_stays_the_end() -> None:
    prefetcher: Prefetcher[int] = Prefetcher(lambda index: None)
    assert [next(prefetcher, "end"), next(prefetcher, "end")] == ["end", "end"]


def test_closing_ends_the_thread() -> None:
    prefetcher: Prefetcher[int] = Prefetcher(lambda index: index)
    next(prefetcher)
    prefetcher.close()
    assert not prefetcher._thread.is_alive()
