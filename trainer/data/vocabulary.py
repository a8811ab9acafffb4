"""Joint subword vocabulary of both languages: byte-pair encoding learned by SentencePiece, once per text and size.

The text is taken as it is (no Unicode folding: references are compared as written), digits are single pieces so that
numbers are spelled, and characters never seen in training fall back to bytes, so that nothing is unknown in practice.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sentencepiece

FILE_NAME = "vocabulary"

PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(4)
LEARNING = {
    "model_type": "bpe",
    "hard_vocab_limit": False,
    "character_coverage": 1.0,
    "byte_fallback": True,
    "split_digits": True,
    "normalization_rule_name": "identity",
    "pad_id": PAD_ID,
    "unk_id": UNK_ID,
    "bos_id": BOS_ID,
    "eos_id": EOS_ID,
    "num_threads": 1,
    "minloglevel": 2,
}


AT_ONCE = 256
_sampling = threading.Lock()


class VocabularyError(ValueError):
    """A vocabulary that cannot be learned or read; says why."""


@dataclass(frozen=True)
class VocabularySettings:
    """`size`: number of pieces, the 4 special and 256 byte pieces included, and at most that many.

    `dropout`: BPE-dropout (Provilkov et al. 2020, https://aclanthology.org/2020.acl-main.170), the share of merges,
    from 0 to below 1, that is left out whenever a training sentence is read: every epoch sees its words in other
    pieces. It helps where text is scarce. An epoch has as many batches as without it, and so they are larger (on
    Multi30k at 0.05 by a fifth, at 0.1 by two fifths). Validation and translation have whole pieces.
    """

    size: int = 800
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be from 0 to below 1, not {self.dropout}")


class Vocabulary:
    """Turns sentences into piece ids and back. The ids of pad, unknown, begin and end are 0, 1, 2 and 3."""

    pad_id, unk_id, bos_id, eos_id = PAD_ID, UNK_ID, BOS_ID, EOS_ID

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._pieces = sentencepiece.SentencePieceProcessor()
        try:
            self._pieces.LoadFromSerializedProto(model)
        except (RuntimeError, TypeError) as error:
            raise VocabularyError(f"not a SentencePiece model: {error}") from error

    @classmethod
    def learn(cls, texts: Iterable[str], settings: VocabularySettings) -> Vocabulary:
        """Learn from sentences of both languages. Raises VocabularyError when they are too few for the size."""
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=iter(texts), model_writer=model, vocab_size=settings.size, **LEARNING
            )
        except (RuntimeError, ValueError) as error:
            raise VocabularyError(f"a vocabulary of {settings.size} pieces cannot be learned: {error}") from error
        return cls(model.getvalue())

    @classmethod
    def learn_or_load(cls, texts: Iterable[str], settings: VocabularySettings, cache_dir: Path) -> Vocabulary:
        """The vocabulary of these very sentences and settings: from `cache_dir`, or learned and left there.

        Ranks on one machine may all call this at once: each writes a file of its own and renames it over the same name.
        """
        sentences = list(texts)
        path = cache_dir / f"vocabulary-{_digest_of(sentences, settings.size)}"
        if path.is_file():
            return cls._read(path)
        learned = cls.learn(sentences, settings)
        learned._write(path)
        return learned

    @classmethod
    def load(cls, directory: Path) -> Vocabulary:
        """Read what `save` wrote. Raises VocabularyError when it is missing or damaged."""
        return cls._read(directory / FILE_NAME)

    def save(self, directory: Path) -> None:
        """Write the file `vocabulary` into `directory` by rename."""
        self._write(directory / FILE_NAME)

    @property
    def digest(self) -> str:
        """SHA-256 of the vocabulary in hex: equal digests mean equal pieces."""
        return hashlib.sha256(self._model).hexdigest()

    def __len__(self) -> int:
        return int(self._pieces.GetPieceSize())

    def encode(self, sentence: str) -> list[int]:
        """Piece ids of a sentence, without begin and end."""
        return [int(piece) for piece in self._pieces.EncodeAsIds(sentence)]

    def sample(self, sentences: Sequence[str], dropout: float, seed: Sequence[int]) -> list[list[int]]:
        """Piece ids of sentences, each merge left out with probability `dropout`: the same for the same `seed`.

        SentencePiece seeds its random numbers when a thread first asks for one, and each list is encoded in a new
        thread. No other Python code runs meanwhile, and so the lists are short.
        """
        parts = [sentences[start : start + AT_ONCE] for start in range(0, len(sentences), AT_ONCE)]
        seeds = np.random.SeedSequence(seed).generate_state(len(parts)) % (2**32 - 1)
        sampled: list[list[int]] = []
        for part, part_seed in zip(parts, seeds, strict=True):
            with _sampling:
                sentencepiece.set_random_generator_seed(int(part_seed))
                sampled += self._pieces.Encode(part, enable_sampling=True, alpha=dropout, num_threads=1)
        return sampled

    def decode(self, ids: Iterable[int]) -> str:
        """The sentence of piece ids; pad, begin and end are left out."""
        return str(self._pieces.DecodeIds([int(piece) for piece in ids]))

    @classmethod
    def _read(cls, path: Path) -> Vocabulary:
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise VocabularyError(f"no vocabulary at {path}: {error}") from error
        except VocabularyError as error:
            raise VocabularyError(f"{path} is damaged: {error}") from error

    def _write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            file.write(self._model)
        os.replace(file.name, path)


def _digest_of(sentences: Iterable[str], size: int) -> str:
    digest = hashlib.sha256(f"{sentencepiece.__version__} {size} {LEARNING}".encode())
    for sentence in sentences:
        digest.update(sentence.encode())
        digest.update(b"\n")
    return digest.hexdigest()[:24]
