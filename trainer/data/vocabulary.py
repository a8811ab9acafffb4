"""The subword vocabulary of both languages together: byte-pair encoding, learned by SentencePiece.

The text is taken as it is, without Unicode folding, since references are compared as written. Digits are single pieces,
so that numbers are spelled. Characters that training has never seen become bytes, so that hardly anything is unknown.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import sentencepiece

from trainer.files.atomic import write_atomically
from trainer.settings.data import VocabularySettings

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
"""Sentences that are encoded in one call."""
_sampling = threading.Lock()


class VocabularyError(ValueError):
    """A vocabulary cannot be learned or read. The message says why."""


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
        """Learns from sentences of both languages. Raises VocabularyError if there are too few for the size."""
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
        """Returns the vocabulary of exactly these sentences and settings: from `cache_dir`, or learned and left there.

        All ranks on a machine may call this at once, since the file is written atomically.
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
        """Reads the vocabulary that `save` wrote. Raises VocabularyError if it is missing or damaged."""
        return cls._read(directory / FILE_NAME)

    def save(self, directory: Path) -> None:
        """Writes the file `vocabulary` into `directory`."""
        self._write(directory / FILE_NAME)

    @property
    def digest(self) -> str:
        """The SHA-256 of the vocabulary in hex. Equal digests mean equal pieces."""
        return hashlib.sha256(self._model).hexdigest()

    def __len__(self) -> int:
        return int(self._pieces.GetPieceSize())

    def encode(self, sentence: str) -> list[int]:
        """Returns the piece ids of a sentence, without begin and end of sentence."""
        return [int(piece) for piece in self._pieces.EncodeAsIds(sentence)]

    def sample(self, sentences: Sequence[str], dropout: float, seed: Sequence[int]) -> list[list[int]]:
        """Returns the piece ids of sentences. Each merge is left out with probability `dropout`.

        The same `seed` gives the same pieces. SentencePiece seeds its random numbers when a thread first asks for one,
        and it encodes each list in a new thread. No other Python code runs meanwhile, and so the lists are short.
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
        """Returns the sentence of piece ids, without pad, begin and end of sentence."""
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
        write_atomically(path, self._model)


def _digest_of(sentences: Iterable[str], size: int) -> str:
    digest = hashlib.sha256(f"{sentencepiece.__version__} {size} {LEARNING}".encode())
    for sentence in sentences:
        digest.update(sentence.encode())
        digest.update(b"\n")
    return digest.hexdigest()[:24]
