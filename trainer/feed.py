"""This rank's batches, made ahead in a thread: its share of each global batch, in the order of seed and epoch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from trainer.batches import Batch, Encoded, EpochPlan, Prefetcher, Sample, collate, split
from trainer.resample import Resampler
from trainer.settings import BatchSettings

Parts = list[Batch | None]
"""This rank's part of each global batch of one step; None where it has no sample."""


@dataclass(frozen=True)
class Epoch:
    """One epoch's samples, as it reads them, and its batches."""

    number: int
    encoded: Encoded
    plan: EpochPlan


class Feed:
    """Gives the parts of step after step from a global cursor on; the cut can be changed on the way.

    With a ``resampler`` each epoch reads the samples in other pieces, in as many batches.
    """

    def __init__(
        self,
        encoded: Encoded,
        settings: BatchSettings,
        seed: int,
        pad_id: int,
        resampler: Resampler | None = None,
    ) -> None:
        self._encoded, self._settings, self._seed, self._pad_id = encoded, settings, seed, pad_id
        self._resampler = resampler
        whole = Epoch(0, encoded, self._planned(0, encoded))
        self.batches_per_epoch = len(whole.plan)
        self._made = functools.lru_cache(maxsize=2)(self._make)
        self._epoch = whole if resampler is None else self._made(0)
        self._rank, self._shares = 0, [1.0]
        self._prefetcher: Prefetcher[Parts] | None = None

    def seek(self, cursor: int, rank: int, shares: Sequence[float]) -> None:
        """Go on at global batch ``cursor`` as ``rank`` of ranks with these shares."""
        self.close()
        self._rank, self._shares = rank, list(shares)
        self._prefetcher = Prefetcher(self.parts_at, start=cursor // self._accumulate, depth=self._settings.prefetch)

    def next(self) -> Parts:
        """The parts of the next step."""
        if self._prefetcher is None:
            raise RuntimeError("seek before the first step")
        return next(self._prefetcher)

    def close(self) -> None:
        """Stop making batches."""
        if self._prefetcher is not None:
            self._prefetcher.close()
            self._prefetcher = None

    def parts_at(self, step: int) -> Parts:
        """This rank's parts of step number ``step``, from 0."""
        return [self._part(step * self._accumulate + offset) for offset in range(self._accumulate)]

    def indices_at(self, cursor: int) -> list[int]:
        """The samples of global batch ``cursor``, counted over all epochs. Every epoch has as many batches."""
        epoch, position = divmod(cursor, self.batches_per_epoch)
        if self._epoch.number != epoch:
            self._epoch = self._made(epoch)
        return self._epoch.plan.batches[position]

    def sample(self, index: int) -> Sample:
        """One sample as ids, as the epoch of the last batch reads it."""
        return self._epoch.encoded.samples[index]

    @property
    def longest(self) -> int:
        """Ids of the longest sentence of this epoch."""
        return max(map(max, self._epoch.encoded.lengths))

    @property
    def batch_tokens(self) -> int:
        """What bounds a global batch of this epoch."""
        return self._epoch.plan.batch_tokens

    def _part(self, cursor: int) -> Batch | None:
        mine = split(self.indices_at(cursor), self._epoch.encoded.lengths, self._shares)[self._rank]
        if not mine:
            return None
        return collate([self.sample(index) for index in mine], self._pad_id, self._settings.length_multiple)

    def _make(self, number: int) -> Epoch:
        if self._resampler is None:
            return Epoch(number, self._encoded, self._planned(number, self._encoded))
        encoded = self._resampler.epoch(self._encoded, number)
        return Epoch(number, encoded, self._planned(number, encoded, self.batches_per_epoch))

    def _planned(self, epoch: int, encoded: Encoded, count: int | None = None) -> EpochPlan:
        return EpochPlan(
            encoded.lengths,
            self._settings.tokens,
            self._seed,
            epoch,
            multiple=self._settings.length_multiple,
            max_sentences=self._settings.max_sentences,
            count=count,
        )

    @property
    def _accumulate(self) -> int:
        return self._settings.accumulate
