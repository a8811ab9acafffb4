"""Whoever joins or leaves, each sample of an epoch is trained on exactly once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shards_in_memory import ShardsInMemory, shard_of_samples
from trainer.data.batch_stream import BatchStream, Cut
from trainer.data.shard import Shard
from trainer.settings.data import BatchSettings


def shard(first: int, count: int) -> Shard:
    """Samples whose first source id tells them apart."""
    return shard_of_samples(
        [([10 + index, 3], [2, *range(4, 4 + index % 7), 3]) for index in range(first, first + count)]
    )


def stream(count: int = 97, shards: int = 1, **options: int) -> BatchStream:
    firsts = [number * count // shards for number in range(shards + 1)]
    source = ShardsInMemory(*(shard(first, end - first) for first, end in itertools.pairwise(firsts)))
    return BatchStream(source, BatchSettings(tokens=64, max_tokens=20, **options), seed=3, pad_id=0)


def seen_at(one: BatchStream, step: int, shares: Sequence[float] = (1.0,)) -> list[int]:
    """Returns the samples that ranks with these shares together take in one step."""
    cuts = [Cut(rank, tuple(shares)) for rank in range(len(shares))]
    parts = [part for cut in cuts for part in one.parts_at(step, cut) if part is not None]
    return [int(row[0]) for part in parts for row in part.src]


_worlds = st.lists(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=9), min_size=1, max_size=30)


@settings(deadline=None, max_examples=40)
@given(worlds=_worlds, shards=st.integers(1, 5), epoch=st.integers(0, 2))
def test_each_sample_of_an_epoch_is_seen_once_under_any_sequence_of_worlds(
    worlds: list[list[float]], shards: int, epoch: int
) -> None:
    steps = stream(shards=shards).batches_per_epoch
    seen: Counter[int] = Counter()
    for step in range(epoch * steps, (epoch + 1) * steps):
        shares = worlds[step % len(worlds)]  # the world, and its shares, change after every step
        seen.update(seen_at(stream(shards=shards), step, shares))
    assert seen == Counter(range(10, 10 + 97))


def test_the_order_is_the_seed_s_and_the_epoch_s_alone() -> None:
    first, again = stream(), stream()
    epoch = first.batches_per_epoch
    assert [first.indices_at(cursor) for cursor in range(2 * epoch)] == [
        again.indices_at(cursor) for cursor in range(2 * epoch)
    ]
    assert [first.indices_at(cursor) for cursor in range(epoch)] != [
        first.indices_at(cursor) for cursor in range(epoch, 2 * epoch)
    ]


def test_a_new_cut_continues_at_the_cursor() -> None:
    one = stream()
    one.seek(0, Cut())
    for _ in range(3):
        one.next()
    one.seek(3, Cut(1, (0.5, 0.5)))
    part = one.next()[0]
    one.close()
    assert part is not None
    half = [int(row[0]) - 10 for row in part.src]
    assert set(half) < set(stream().indices_at(3))


def test_accumulated_batches_are_consecutive() -> None:
    one, plain = stream(accumulate=2), stream()
    taken = seen_at(one, 1)
    assert sorted(taken) == sorted(10 + index for cursor in (2, 3) for index in plain.indices_at(cursor))


def test_a_finer_multiple_of_lengths_pads_less() -> None:
    def padding(multiple: int) -> float:
        one = stream(count=600, length_multiple=multiple)
        parts = [
            part for step in range(one.batches_per_epoch) for part in one.parts_at(step, Cut()) if part is not None
        ]
        return sum(part.padding_share * part.tgt.size for part in parts) / sum(part.tgt.size for part in parts)

    assert padding(1) < padding(2) < padding(8)
