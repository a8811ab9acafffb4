"""BPE-dropout (Provilkov et al. 2020, https://aclanthology.org/2020.acl-main.170).

Each epoch reads the training sentences in other pieces. They are cut anew from the text, which therefore lies beside
the ids in a prepared corpus: ids alone do not tell where merges could be left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainer.data.samples import FRAME, Samples
from trainer.data.shard import Shard
from trainer.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class BpeDropout:
    """Reads the samples of a shard in other pieces. The pieces depend on seed, epoch and shard alone.

    So they are the same on every rank. A sample that would become longer than `max_tokens` keeps its whole pieces.
    """

    vocabulary: Vocabulary
    dropout: float
    seed: int
    max_tokens: int

    def epoch(self, shard: Shard, epoch: int) -> Samples:
        """Returns the samples of `shard`, in their order, as `epoch` (from 0) reads them."""
        assert shard.texts is not None, "BPE-dropout cuts text"
        whole, texts = shard.samples, shard.texts
        seed = (self.seed % 2**32, epoch, *([shard.number] if shard.number else []))
        sentences = (text for index in range(len(whole)) for text in texts[index])
        ids, pieces = self.vocabulary.sample(sentences, 2 * len(whole), self.dropout, seed)
        new = Samples.of_pieces(ids, pieces.reshape(-1, 2), whole.bos_id, whole.eos_id)
        is_short = ((new.pieces + FRAME).max(axis=1) <= self.max_tokens)[:, None]  # (samples, 1)
        if is_short.all():
            return new
        return Samples(
            np.concatenate([new.ids, whole.ids]),
            np.where(is_short, new.starts, whole.starts + len(new.ids)),
            np.where(is_short, new.pieces, whole.pieces),
            whole.bos_id,
            whole.eos_id,
        )
