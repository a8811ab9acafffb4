"""This rank's batches, made ahead in a thread: its share of each global batch, in the order of seed and epoch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from trainer.data.batches import Batch, Encoded, EpochPlan, Prefetcher, Sample, collate, split
from trainer.data.bpe_dropout import Resampler
from trainer.settings.settings import BatchSettings

Parts = list[Batch | None]
"""This rank's part of each global batch of one step; None where it has no sample."""


@dataclass(frozen=True)
class Epoch:
    """One epoch's samples, as it reads them, and its batches."""

    encoded: Encoded
    plan: EpochPlan


class Feed:
    """Gives the parts of step after step from a global cursor on; the cut can be changed on the way.

    With a `resampler` each epoch reads the samples in other pieces, in as many batches.
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
        self._epoch = functools.lru_cache(maxsize=2)(self._make_epoch)
        self.batches_per_epoch = len(self._epoch(0).plan if resampler is None else self._plan_of(0, encoded))
        self._rank, self._shares = 0, [1.0]
        self._prefetcher: Prefetcher[Parts] | None = None

    def seek(self, cursor: int, rank: int, shares: Sequence[float]) -> None:
        """Go on at global batch `cursor` as `rank` of ranks with these shares."""
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
        """This rank's parts of step number `step`, from 0."""
        return [self._part(step * self._accumulate + offset) for offset in range(self._accumulate)]

    def indices_at(self, cursor: int) -> list[int]:
        """The samples of global batch `cursor`, counted over all epochs. Every epoch has as many batches."""
        epoch, position = divmod(cursor, self.batches_per_epoch)
        return self._epoch(epoch).plan.batches[position]

    def samples_at(self, cursor: int) -> list[Sample]:
        """The samples of global batch `cursor` as ids, as its epoch reads them."""
        encoded = self._encoded_at(cursor)
        return [encoded.samples[index] for index in self.indices_at(cursor)]

    @property
    def longest(self) -> int:
        """Ids of the longest sentence, as the first epoch reads it."""
        return max(map(max, self._epoch(0).encoded.lengths))

    @property
    def batch_tokens(self) -> int:
        """What bounds a global batch of the first epoch."""
        return self._epoch(0).plan.batch_tokens

    def _part(self, cursor: int) -> Batch | None:
        encoded = self._encoded_at(cursor)
        mine = split(self.indices_at(cursor), encoded.lengths, self._shares)[self._rank]
        if not mine:
            return None
        samples = [encoded.samples[index] for index in mine]
        return collate(samples, self._pad_id, self._settings.length_multiple)

    def _encoded_at(self, cursor: int) -> Encoded:
        return self._epoch(cursor // self.batches_per_epoch).encoded

    def _make_epoch(self, number: int) -> Epoch:
        if self._resampler is None:
            return Epoch(self._encoded, self._plan_of(number, self._encoded))
        encoded = self._resampler.epoch(self._encoded, number)
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

    @property
    def _accumulate(self) -> int:
        return self._settings.accumulate
