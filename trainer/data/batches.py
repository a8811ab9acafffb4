"""Which samples make which batch, in an order that depends on (seed, epoch) alone, and the arrays made of them.

A *global batch* is what all ranks together compute in one step. It is planned without knowing the fleet, and only then
cut into one share per rank, so the sequence of global batches is the same whoever joins or leaves; a cursor into it
is all that an elastic state has to carry.
"""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Sample = tuple[list[int], list[int]]
"""Source ids ending in end-of-sentence; target ids from begin- to end-of-sentence."""
Lengths = tuple[int, int]

T = TypeVar("T")


class Encoder(Protocol):
    """The part of a vocabulary that is needed to encode sentences."""

    bos_id: int
    eos_id: int

    def encode(self, sentence: str) -> list[int]:
        """Piece ids of a sentence."""
        ...


@dataclass(frozen=True)
class Encoded:
    """Samples as ids, and the `pairs` of sentences they were; `too_long` counts the pairs left out."""

    samples: list[Sample]
    pairs: list[tuple[str, str]]
    too_long: int

    @functools.cached_property
    def lengths(self) -> list[Lengths]:
        """Of the samples' ids, source and target."""
        return [(len(source), len(target)) for source, target in self.samples]


def encode_pairs(vocabulary: Encoder, pairs: Sequence[tuple[str, str]], max_tokens: int) -> Encoded:
    """Encode sentence pairs; pairs with more than `max_tokens` ids on a side are counted and left out."""
    encoded = ((pair, framed(vocabulary, *map(vocabulary.encode, pair))) for pair in pairs)
    kept = [(pair, sample) for pair, sample in encoded if max(map(len, sample)) <= max_tokens]
    return Encoded([sample for _, sample in kept], [pair for pair, _ in kept], len(pairs) - len(kept))


def framed(vocabulary: Encoder, source: Sequence[int], target: Sequence[int]) -> Sample:
    """A sample of the piece ids of a sentence pair."""
    return [*source, vocabulary.eos_id], [vocabulary.bos_id, *target, vocabulary.eos_id]


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


class EpochPlan:
    """The global batches of one epoch: each sample in exactly one batch, sentences of like length together.

    `batch_tokens` bounds a batch's tokens on either side, padding included; a longer sentence is a batch by itself.
    Within one length the samples are shuffled, and so are the batches. Where `count` is given, there are that many
    batches, and `batch_tokens` is raised as far as that takes. Raises ValueError where the samples cannot make them.
    """

    def __init__(
        self,
        lengths: Sequence[Lengths],
        batch_tokens: int,
        seed: int,
        epoch: int,
        multiple: int = 8,
        max_sentences: int | None = None,
        count: int | None = None,
    ) -> None:
        if not lengths:
            raise ValueError("there is no sample to make batches of")
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be 1 or more, not {batch_tokens}")
        rng = np.random.RandomState([seed % 2**32, epoch])
        padded = [_round_up(max(pair), multiple) for pair in lengths]
        order = rng.permutation(len(lengths))
        order = order[np.argsort(np.take(padded, order), kind="stable")]
        self.batch_tokens = batch_tokens
        batches = _filled(order, padded, batch_tokens, max_sentences)
        if count is not None:
            if not -(-len(order) // (max_sentences or len(order))) <= count <= len(order):
                raise ValueError(f"{len(order)} samples cannot be {count} batches")
            while len(batches) > count:
                self.batch_tokens += _round_up(self.batch_tokens, 128) // 128
                batches = _filled(order, padded, self.batch_tokens, max_sentences)
            _halve_largest(batches, count)
        self.batches = [batches[position] for position in rng.permutation(len(batches))]

    def __len__(self) -> int:
        return len(self.batches)


def _filled(
    order: Iterable[int], padded: Sequence[int], batch_tokens: int, max_sentences: int | None
) -> list[list[int]]:
    batches: list[list[int]] = [[]]
    for index in map(int, order):
        sentences = len(batches[-1]) + 1
        if batches[-1] and (sentences * padded[index] > batch_tokens or sentences > (max_sentences or sentences)):
            batches.append([])
        batches[-1].append(index)
    return batches


def _halve_largest(batches: list[list[int]], count: int) -> None:
    while len(batches) < count:
        largest = max(batches, key=len)
        middle = len(largest) // 2
        batches.append(largest[middle:])
        del largest[middle:]


def split(indices: Sequence[int], lengths: Sequence[Lengths], shares: Sequence[float]) -> list[list[int]]:
    """Cut a global batch into one list of samples per rank, target tokens in proportion to `shares`.

    Every sample goes to exactly one rank, and no rank is empty while there are as many samples as ranks. The same
    arguments give the same cut on every rank. `shares` need not add up to one; they must be positive.
    """
    if not shares or min(shares) <= 0:
        raise ValueError(f"shares must be positive, not {list(shares)}")
    ranks, count = len(shares), len(indices)
    weights = np.array([lengths[index][1] for index in indices], dtype=np.float64)
    middles = np.cumsum(weights) - weights / 2
    ends = np.cumsum(np.array(shares, dtype=np.float64)) / sum(shares) * weights.sum()
    cuts = [0, *(int(cut) for cut in np.searchsorted(middles, ends[:-1])), count]
    if count >= ranks:
        for rank in range(1, ranks):
            cuts[rank] = min(max(cuts[rank], cuts[rank - 1] + 1), count - (ranks - rank))
    return [list(indices[start:end]) for start, end in pairwise(cuts)]


@dataclass(frozen=True)
class Batch:
    """One rank's arrays: ids are int32 of shape (sentences, length), lengths float32 of shape (sentences,).

    `target_tokens` counts the tokens to predict (end-of-sentence included, begin not); `padding_share` is the
    part of both id arrays, 0 to 1, that is padding.
    """

    src: NDArray[np.int32]
    src_len: NDArray[np.float32]
    tgt: NDArray[np.int32]
    tgt_len: NDArray[np.float32]
    target_tokens: int
    padding_share: float

    @property
    def ids(self) -> int:
        """How many ids both arrays hold, padding included."""
        return self.src.size + self.tgt.size


def _pad(sequences: Sequence[Sequence[int]], pad_id: int, width: int) -> NDArray[np.int32]:
    padded = np.full((len(sequences), width), pad_id, dtype=np.int32)
    for row, sequence in zip(padded, sequences, strict=True):
        row[: len(sequence)] = sequence
    return padded


def collate(samples: Sequence[Sample], pad_id: int, multiple: int = 8) -> Batch:
    """Pad samples into arrays; the source's length and the target's less one are multiples of `multiple`.

    Few distinct shapes let a hybridized model find its memory plan again instead of making a new one.
    """
    if not samples:
        raise ValueError("a batch needs at least one sample")
    sources, targets = [sample[0] for sample in samples], [sample[1] for sample in samples]
    src = _pad(sources, pad_id, _round_up(max(map(len, sources)), multiple))
    tgt = _pad(targets, pad_id, _round_up(max(map(len, targets)) - 1, multiple) + 1)
    src_len = np.array([len(source) for source in sources], dtype=np.float32)
    tgt_len = np.array([len(target) for target in targets], dtype=np.float32)
    filled = float(src_len.sum() + tgt_len.sum())
    return Batch(src, src_len, tgt, tgt_len, int(tgt_len.sum()) - len(samples), 1 - filled / (src.size + tgt.size))


class Prefetcher(Generic[T]):
    """Makes items 0, 1, 2, ... ahead of their use in a thread of its own, at most `depth` of them.

    `make(index)` gives the item, or None after the last. What it raises is raised where the item would have come.
    """

    def __init__(self, make: Callable[[int], T | None], start: int = 0, depth: int = 4) -> None:
        self._make = make
        self._depth = depth
        self._start(start)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        item, error = self._items.get()
        if error is not None or item is None:
            self._items.put((item, error))  # so that a further call ends the same way instead of waiting
        if error is not None:
            raise error
        if item is None:
            raise StopIteration
        return item

    def reposition(self, index: int) -> None:
        """Go on at `index`, with items made from now on: call it when what `make` depends on has changed."""
        self.close()
        self._start(index)

    def close(self) -> None:
        """Stop the thread; an item in the making is finished and dropped."""
        self._stopped.set()
        while self._thread.is_alive():
            self._drain()
            self._thread.join(timeout=0.01)
        self._drain()

    def _start(self, index: int) -> None:
        self._stopped = threading.Event()
        self._items: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(self._depth)
        arguments = (index, self._stopped, self._items)
        self._thread = threading.Thread(target=self._run, args=arguments, name="prefetcher", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while not self._items.empty():
            self._items.get_nowait()

    def _run(self, index: int, stopped: threading.Event, items: queue.Queue[Any]) -> None:
        while not stopped.is_set():
            try:
                item, error = self._make(index), None
            except Exception as caught:  # handed to the consumer, whose business it is
                item, error = None, caught
            items.put((item, error))
            if item is None:
                return
            index += 1
