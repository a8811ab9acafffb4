"""The subword vocabulary of both languages together: byte-pair encoding, learned by SentencePiece.

The text is taken as it is, without Unicode folding, since references are compared as written. Digits are single pieces,
so that numbers are spelled. Characters that training has never seen become bytes, so that hardly anything is unknown.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from trainer.data.samples import flat
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


class _Watched(Iterator[str]):
    """Sentences for SentencePiece, which takes an error of its iterator for the end of the text, or breaks over it.

    An error ends the sentences. `raise_again` raises it when SentencePiece is done.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = iter(texts)
        self._error: Exception | None = None

    def __next__(self) -> str:
        """Returns the next sentence."""
        try:
            return next(self._texts)
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise StopIteration from error

    def raise_again(self) -> None:
        """Raises the error that ended the text, if one did."""
        if self._error is not None:
            raise self._error


class Vocabulary:
    """Turns sentences into piece ids and back.

    In a vocabulary that is learned here the ids of pad, unknown, begin and end are 0, 1, 2 and 3. Another one may have
    others. Where it has no pad, the id of unknown fills arrays up; nothing reads what is filled up.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        """The serialized SentencePiece model."""
        self._pieces = sentencepiece.SentencePieceProcessor()
        try:
            self._pieces.LoadFromSerializedProto(model)
        except (RuntimeError, TypeError) as error:
            raise VocabularyError(f"not a SentencePiece model: {error}") from error
        self.unk_id, self.bos_id, self.eos_id = (
            int(self._pieces.unk_id()),
            int(self._pieces.bos_id()),
            int(self._pieces.eos_id()),
        )
        self.pad_id = self.unk_id if self._pieces.pad_id() < 0 else int(self._pieces.pad_id())
        if min(self.bos_id, self.eos_id) < 0:
            raise VocabularyError("it has no piece for begin or end of sentence: learn it with --bos_id and --eos_id")

    @classmethod
    def learn(
        cls, texts: Iterable[str], size: int, kind: str = "bpe", tags: Sequence[str] = (), threads: int = 1
    ) -> Vocabulary:
        """Learns from sentences of both languages.

        Args:
            texts: The sentences.
            size: The most pieces.
            kind: "bpe" or "unigram".
            tags: Words that are a piece each, such as "<news>".
            threads: How many threads learn. With "unigram" the result depends on it.

        Raises:
            VocabularyError: There are too few sentences for the size.
        """
        model, sentences = io.BytesIO(), _Watched(texts)
        options = {**LEARNING, "model_type": kind, "num_threads": threads}
        if tags:
            options["user_defined_symbols"] = list(tags)
        try:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=sentences, model_writer=model, vocab_size=size, **options
            )
        except (RuntimeError, ValueError) as error:
            sentences.raise_again()
            raise VocabularyError(f"a vocabulary of {size} pieces cannot be learned: {error}") from error
        sentences.raise_again()
        return cls(model.getvalue())

    @classmethod
    def learn_or_load(cls, texts: Iterable[str], settings: VocabularySettings, cache_dir: Path) -> Vocabulary:
        """Returns the vocabulary of exactly these sentences and settings: from `cache_dir`, or learned and left there.

        All ranks on a machine may call this at once, since the file is written atomically.
        """
        sentences = list(texts)
        path = cache_dir / f"vocabulary-{_digest_of(sentences, settings.size)}"
        if path.is_file():
            return cls.read(path)
        learned = cls.learn(sentences, settings.size)
        learned._write(path)
        return learned

    @classmethod
    def load(cls, directory: Path) -> Vocabulary:
        """Reads the vocabulary that `save` wrote. Raises VocabularyError if it is missing or damaged."""
        return cls.read(directory / FILE_NAME)

    def save(self, directory: Path) -> None:
        """Writes the file `vocabulary` into `directory`."""
        self._write(directory / FILE_NAME)

    @property
    def digest(self) -> str:
        """The SHA-256 of the vocabulary in hex. Equal digests mean equal pieces."""
        return hashlib.sha256(self.model).hexdigest()

    def __len__(self) -> int:
        return int(self._pieces.GetPieceSize())

    def has_piece(self, piece: str) -> bool:
        """Returns whether this text is one piece."""
        return int(self._pieces.PieceToId(piece)) != self.unk_id

    def encode(self, sentence: str) -> list[int]:
        """Returns the piece ids of a sentence, without begin and end of sentence."""
        return [int(piece) for piece in self._pieces.EncodeAsIds(sentence)]

    def encode_all(self, sentences: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns the piece ids of all sentences in one array, and how many pieces each of them has."""
        return flat(self._pieces.Encode(list(sentences), num_threads=1))

    def sample(
        self, sentences: Iterable[str], count: int, dropout: float, seed: Sequence[int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns the piece ids of sentences. Each merge is left out with probability `dropout`.

        The same `seed` gives the same pieces. SentencePiece seeds its random numbers when a thread first asks for one,
        and it encodes each list in a new thread. No other Python code runs meanwhile, and so the lists are short.

        Args:
            sentences: The text. It is read in lists of `AT_ONCE`.
            count: How many sentences there are.
            dropout: From 0 to below 1.
            seed: Whole numbers that are not negative.

        Returns:
            The ids of all sentences, shape (ids,), and how many pieces each of them has, shape (sentences,).
        """
        seeds = np.random.SeedSequence(seed).generate_state(-(-count // AT_ONCE)) % (2**32 - 1)
        left, parts = iter(sentences), [flat([])]
        for part_seed in seeds:
            part = list(itertools.islice(left, AT_ONCE))
            with _sampling:
                sentencepiece.set_random_generator_seed(int(part_seed))
                parts.append(flat(self._pieces.Encode(part, enable_sampling=True, alpha=dropout, num_threads=1)))
        ids, pieces = zip(*parts, strict=True)
        return np.concatenate(ids), np.concatenate(pieces)

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the sentence of piece ids, without pad, begin and end of sentence."""
        return str(self._pieces.DecodeIds([int(piece) for piece in ids]))

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        """Reads a SentencePiece model. Raises VocabularyError if it is missing or damaged."""
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise VocabularyError(f"no vocabulary at {path}: {error}") from error
        except VocabularyError as error:
            raise VocabularyError(f"{path} is damaged: {error}") from error

    def _write(self, path: Path) -> None:
        write_atomically(path, self.model)


def _digest_of(sentences: Iterable[str], size: int) -> str:
    digest = hashlib.sha256(f"{sentencepiece.__version__} {size} {LEARNING}".encode())
    for sentence in sentences:
        digest.update(sentence.encode())
        digest.update(b"\n")
    return digest.hexdigest()[:24]
