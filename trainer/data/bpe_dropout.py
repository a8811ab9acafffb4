"""BPE-dropout: each epoch reads the training sentences in other pieces (see `VocabularySettings`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trainer.data.batches import Encoded, framed
from trainer.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class Resampler:
    """Gives the samples as an epoch reads them: a function of (seed, epoch) alone, the same on every rank.

    A sample that would become longer than `max_tokens` keeps its whole pieces.
    """

    vocabulary: Vocabulary
    dropout: float
    seed: int
    max_tokens: int

    def epoch(self, whole: Encoded, epoch: int) -> Encoded:
        """The samples of `whole`, in their order, as `epoch` (from 0) reads them."""
        texts = [text for pair in whole.pairs for text in pair]
        ids = self.vocabulary.sample(texts, self.dropout, (self.seed % 2**32, epoch))
        sampled = (framed(self.vocabulary, *pair) for pair in zip(ids[::2], ids[1::2], strict=True))
        samples = [
            new if max(map(len, new)) <= self.max_tokens else old
            for new, old in zip(sampled, whole.samples, strict=True)
        ]
        return replace(whole, samples=samples)
