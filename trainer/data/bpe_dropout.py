"""BPE-dropout (Provilkov et al. 2020, https://aclanthology.org/2020.acl-main.170).

Each epoch reads the training sentences in other pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trainer.data.samples import Encoded, framed
from trainer.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class BpeDropout:
    """Reads the samples of an epoch in other pieces. The pieces depend on seed and epoch alone.

    So they are the same on every rank. A sample that would become longer than `max_tokens` keeps its whole pieces.
    """

    vocabulary: Vocabulary
    dropout: float
    seed: int
    max_tokens: int

    def epoch(self, whole: Encoded, epoch: int) -> Encoded:
        """Returns the samples of `whole`, in their order, as `epoch` (from 0) reads them."""
        texts = [text for pair in whole.pairs for text in pair]
        ids = self.vocabulary.sample(texts, self.dropout, (self.seed % 2**32, epoch))
        sampled = (framed(self.vocabulary, *pair) for pair in zip(ids[::2], ids[1::2], strict=True))
        samples = [
            new if max(map(len, new)) <= self.max_tokens else old
            for new, old in zip(sampled, whole.samples, strict=True)
        ]
        return replace(whole, samples=samples)
