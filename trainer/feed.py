"""This rank's batches, made ahead in a thread: its share of each global batch, in the order of seed and epoch."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.batches import Batch, Encoded, EpochPlan, Prefetcher, Sample, collate, split
from trainer.settings import BatchSettings

Parts = list[Batch | None]
"""This rank's part of each global batch of one step; None where it has no sample."""


class Feed:
    """Gives the parts of step after step from a global cursor on; the cut can be changed on the way."""

    def __init__(self, encoded: Encoded, settings: BatchSettings, seed: int, pad_id: int) -> None:
        self._encoded, self._settings, self._seed, self._pad_id = encoded, settings, seed, pad_id
        self._plan = (0, self._plan_of(0))
        self.batches_per_epoch = len(self._plan[1])
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
        if self._plan[0] != epoch:
            self._plan = (epoch, self._plan_of(epoch))
        return self._plan[1].batches[position]

    def sample(self, index: int) -> Sample:
        """One sample as ids."""
        return self._encoded.samples[index]

    def _part(self, cursor: int) -> Batch | None:
        mine = split(self.indices_at(cursor), self._encoded.lengths, self._shares)[self._rank]
        if not mine:
            return None
        samples = [self._encoded.samples[index] for index in mine]
        return collate(samples, self._pad_id, self._settings.length_multiple)

    def _plan_of(self, epoch: int) -> EpochPlan:
        return EpochPlan(
            self._encoded.lengths,
            self._settings.tokens,
            self._seed,
            epoch,
            multiple=self._settings.length_multiple,
            max_sentences=self._settings.max_sentences,
        )

    @property
    def _accumulate(self) -> int:
        return self._settings.accumulate
