"""The batches of one rank, step after step: its part of each global batch, in the order of seed and epoch."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from trainer.data.batch import Batch, collate
from trainer.data.bpe_dropout import BpeDropout
from trainer.data.epoch_plan import EpochPlan
from trainer.data.prefetcher import Prefetcher
from trainer.data.samples import Encoded, Sample
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
class Epoch:
    """The samples of one epoch, as the epoch reads them, and its batches."""

    encoded: Encoded
    plan: EpochPlan


class BatchStream:
    """Gives the parts of one step after another, made ahead in a thread. The cut can change on the way.

    With `bpe_dropout`, each epoch reads the samples in other pieces, and has as many batches as without it.
    """

    def __init__(
        self,
        encoded: Encoded,
        settings: BatchSettings,
        seed: int,
        pad_id: int,
        bpe_dropout: BpeDropout | None = None,
    ) -> None:
        self._encoded, self._settings, self._seed, self._pad_id = encoded, settings, seed, pad_id
        self._bpe_dropout = bpe_dropout
        self._epoch = functools.lru_cache(maxsize=2)(self._make_epoch)
        self.batches_per_epoch = len(self._epoch(0).plan if bpe_dropout is None else self._plan_of(0, encoded))
        self._prefetcher: Prefetcher[Parts] | None = None

    def seek(self, cursor: int, cut: Cut) -> None:
        """Continues at global batch `cursor`, counted over all epochs, with this cut."""
        self.close()
        self._prefetcher = Prefetcher(
            lambda step: self.parts_at(step, cut),
            start=cursor // self._settings.accumulate,
            depth=self._settings.prefetch,
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
        """Returns the samples of global batch `cursor`, counted over all epochs. Every epoch has as many batches."""
        epoch, position = divmod(cursor, self.batches_per_epoch)
        return self._epoch(epoch).plan.batches[position]

    def samples_at(self, cursor: int) -> list[Sample]:
        """Returns the samples of global batch `cursor` as ids, as its epoch reads them."""
        encoded = self._encoded_at(cursor)
        return [encoded.samples[index] for index in self.indices_at(cursor)]

    @property
    def longest(self) -> int:
        """The number of ids of the longest sentence, as the first epoch reads it."""
        return max(map(max, self._epoch(0).encoded.lengths))

    @property
    def batch_tokens(self) -> int:
        """The most tokens of a global batch of the first epoch."""
        return self._epoch(0).plan.batch_tokens

    def _part(self, cursor: int, cut: Cut) -> Batch | None:
        encoded = self._encoded_at(cursor)
        mine = split(self.indices_at(cursor), encoded.lengths, cut.shares)[cut.rank]
        if not mine:
            return None
        samples = [encoded.samples[index] for index in mine]
        return collate(samples, self._pad_id, self._settings.length_multiple)

    def _encoded_at(self, cursor: int) -> Encoded:
        return self._epoch(cursor // self.batches_per_epoch).encoded

    def _make_epoch(self, number: int) -> Epoch:
        if self._bpe_dropout is None:
            return Epoch(self._encoded, self._plan_of(number, self._encoded))
        encoded = self._bpe_dropout.epoch(self._encoded, number)
        return Epoch(encoded, self._plan_of(number, encoded, self.batches_per_epoch))

    def _plan_of(self, epoch: int, encoded: Encoded, count: int | None = None) -> EpochPlan:
        return EpochPlan(
            encoded.lengths,
            self._settings.tokens,
            self._seed,
            epoch,
            multiple=self._settings.length_multiple,
            max_sentences=self._settings.max_sentences,
            count=count,
        )
