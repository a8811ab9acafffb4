"""The batches of one rank, step after step: its part of each global batch, in the order of seed and epoch.

An epoch goes through the shards one after another, in an order of its own. How many batches a shard makes is the same
in every epoch and follows from the lengths of its samples. So a rank that joins knows at once which batch of which
shard is next, and reads that shard alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.data.batch import Batch, collate
from trainer.data.bpe_dropout import BpeDropout
from trainer.data.epoch_plan import EpochPlan, batches_of
from trainer.data.made_once import MadeOnce
from trainer.data.prefetcher import Prefetcher
from trainer.data.samples import Sample, Samples
from trainer.data.shard import KEPT_SHARDS, LengthCounts, ShardSource, within
from trainer.data.split import split
from trainer.settings.data import BatchSettings

Parts = list[Batch | None]
"""This rank's part of each global batch of one step; None where it has no sample."""


@dataclass(frozen=True)
class Cut:
    """How a global batch is cut: into one part for each of the `shares`, of which number `rank` is this rank's."""

    rank: int = 0
    shares: tuple[float, ...] = (1.0,)


@dataclass(frozen=True)
class ShardEpoch:
    """A shard in one epoch: its samples, as the epoch reads them, and its batches."""

    samples: Samples
    plan: EpochPlan


@dataclass(frozen=True)
class Place:
    """A batch's place: batch number `batch` of a shard in one epoch."""

    epoch: int
    shard: int
    batch: int


class BatchStream:
    """Gives the parts of one step after another, made ahead in threads. The cut can change on the way.

    With `bpe_dropout`, each epoch reads the samples in other pieces, and has as many batches as without it.
    """

    def __init__(
        self,
        shards: ShardSource,
        settings: BatchSettings,
        seed: int,
        pad_id: int,
        bpe_dropout: BpeDropout | None = None,
    ) -> None:
        self._shards, self._settings, self._seed, self._pad_id = shards, settings, seed, pad_id
        self._bpe_dropout = bpe_dropout
        counts = [within(one, settings.max_tokens) for one in shards.length_counts]
        self._readable = [number for number, one in enumerate(counts) if len(one)]
        self._batches = {number: self._batches_of(counts[number]) for number in self._readable}
        self._longest = max(int(counts[number][-1, 0]) for number in self._readable)
        self._first_samples = np.cumsum([0, *(int(one[:, 1].sum()) for one in counts)])  # (shards + 1,)
        self._opened = MadeOnce(self._open, KEPT_SHARDS)
        self.batches_per_epoch = sum(self._batches.values())
        self._prefetcher: Prefetcher[Parts] | None = None

    def seek(self, cursor: int, cut: Cut) -> None:
        """Continues at global batch `cursor`, counted over all epochs, with this cut."""
        self.close()
        self._prefetcher = Prefetcher(
            lambda step: self.parts_at(step, cut),
            start=cursor // self._settings.accumulate,
            depth=self._settings.prefetch,
            threads=self._settings.prefetch_threads,
        )

    def next(self) -> Parts:
        """Returns the parts of the next step."""
        if self._prefetcher is None:
            raise RuntimeError("seek before the first step")
        return next(self._prefetcher)

    def close(self) -> None:
        """Stops making batches."""
        if self._prefetcher is not None:
            self._prefetcher.close()
            self._prefetcher = None

    def parts_at(self, step: int, cut: Cut) -> Parts:
        """Returns this rank's parts of step number `step`, from 0."""
        accumulate = self._settings.accumulate
        return [self._part(step * accumulate + offset, cut) for offset in range(accumulate)]

    def indices_at(self, cursor: int) -> list[int]:
        """Returns the samples of global batch `cursor`, counted over all epochs. Every epoch has as many batches.

        The samples are numbered through all shards. Those that are too long have no number.
        """
        place, one = self._at(cursor)
        first = int(self._first_samples[place.shard])
        return [first + int(index) for index in one.plan.batches[place.batch]]

    def samples_at(self, cursor: int) -> list[Sample]:
        """Returns the samples of global batch `cursor` as ids, as its epoch reads them."""
        place, one = self._at(cursor)
        return [one.samples[index] for index in one.plan.batches[place.batch]]

    @property
    def longest(self) -> int:
        """The most ids that a sentence may have: with BPE-dropout the limit, without it what the longest one has."""
        return self._longest if self._bpe_dropout is None else self._settings.max_tokens

    @property
    def batch_tokens(self) -> int:
        """The most tokens of a global batch, as the first shard of the first epoch has it.

        With BPE-dropout it is measured, since more pieces have to fit into as many batches.
        """
        return self._settings.tokens if self._bpe_dropout is None else self._at(0)[1].plan.batch_tokens

    def _part(self, cursor: int, cut: Cut) -> Batch | None:
        place, one = self._at(cursor)
        if 2 * place.batch >= self._batches[place.shard]:
            self._opened.make_ahead(self._after(place))
        mine = split(one.plan.batches[place.batch], one.samples.lengths, cut.shares)[cut.rank]
        if not len(mine):
            return None
        return collate([one.samples[index] for index in mine], self._pad_id, self._settings.length_multiple)

    def _at(self, cursor: int) -> tuple[Place, ShardEpoch]:
        place = self._place(cursor)
        return place, self._opened.get((place.epoch, place.shard))

    def _place(self, cursor: int) -> Place:
        epoch, position = divmod(cursor, self.batches_per_epoch)
        for shard in self._order(epoch):
            if position < self._batches[shard]:
                return Place(epoch, shard, position)
            position -= self._batches[shard]
        raise AssertionError("an epoch has the batches of its shards")

    def _after(self, place: Place) -> tuple[int, int]:
        """Returns the epoch and the shard that come after the shard of `place`."""
        order = self._order(place.epoch)
        following = order[order.index(place.shard) + 1 :]
        return (place.epoch, following[0]) if following else (place.epoch + 1, self._order(place.epoch + 1)[0])

    def _order(self, epoch: int) -> list[int]:
        """Returns the shards in the order in which an epoch reads them."""
        permuted: NDArray[Any] = np.random.RandomState([self._seed % 2**32, epoch, 0]).permutation(self._readable)
        return [int(shard) for shard in permuted]

    def _open(self, key: tuple[int, int]) -> ShardEpoch:
        epoch, number = key
        shard = self._shards.open(number).within(self._settings.max_tokens)
        if self._bpe_dropout is None:
            return ShardEpoch(shard.samples, self._plan(shard.samples, epoch, number))
        samples = self._bpe_dropout.epoch(shard, epoch)
        return ShardEpoch(samples, self._plan(samples, epoch, number, self._batches[number]))

    def _plan(self, samples: Samples, epoch: int, shard: int, count: int | None = None) -> EpochPlan:
        settings = self._settings
        return EpochPlan(
            samples.lengths,
            settings.tokens,
            self._seed,
            epoch,
            shard,
            multiple=settings.length_multiple,
            max_sentences=settings.max_sentences,
            count=count,
        )

    def _batches_of(self, counts: LengthCounts) -> int:
        settings = self._settings
        return batches_of(counts, settings.tokens, settings.length_multiple, settings.max_sentences)
