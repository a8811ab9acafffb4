"""The subword vocabulary of both languages, together or one of each: byte-pair encoding, learned by SentencePiece.

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
from typing import Any

import numpy as np
import sentencepiece
from numpy.typing import NDArray
from sentencepiece import sentencepiece_model_pb2

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
"""Sentences that are encoded in one call: whole pairs."""
SEPARATE = b"centavo vocabularies 1\n"
"""What two vocabularies in one file begin with. The length of the first, in 8 bytes, and both models follow."""
LENGTH_BYTES = 8
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

    Two languages may have a vocabulary each, whose ids are their own (`joined`). Then `encode` is for source sentences
    and `decode` for target sentences.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        """The serialized SentencePiece model."""
        self.models = models_of(model)
        """The SentencePiece models: one of both languages, or that of the source and that of the target."""
        processors = [_processor(one) for one in self.models]
        self._source, self._target = processors[0], processors[-1]
        special = {(int(one.pad_id()), int(one.unk_id()), int(one.bos_id()), int(one.eos_id())) for one in processors}
        if len(special) > 1:
            raise VocabularyError("pad, unknown, begin and end must have the same ids in both vocabularies")
        pad_id, self.unk_id, self.bos_id, self.eos_id = special.pop()
        self.pad_id = self.unk_id if pad_id < 0 else pad_id
        if min(self.bos_id, self.eos_id) < 0:
            raise VocabularyError("it has no piece for begin or end of sentence: learn it with --bos_id and --eos_id")

    @classmethod
    def joined(cls, source: Vocabulary, target: Vocabulary) -> Vocabulary:
        """Returns both vocabularies as one. Raises VocabularyError where their special pieces differ."""
        return cls(SEPARATE + len(source.model).to_bytes(LENGTH_BYTES, "little") + source.model + target.model)

    @classmethod
    def learn_separately(
        cls, texts: Iterable[str], size: int, kind: str = "bpe", tags: Sequence[str] = (), threads: int = 1
    ) -> Vocabulary:
        """Learns a vocabulary of each language, as `learn` does, from sentences of source and target by turns.

        The target sentences are kept in memory while the vocabulary of the source is learned.
        """
        targets: list[str] = []

        def sources() -> Iterator[str]:
            sentences = iter(texts)
            for source in sentences:
                targets.append(next(sentences))
                yield source

        source = cls.learn(sources(), size, kind, tags, threads)
        return cls.joined(source, cls.learn(targets, size, kind, tags, threads))

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
        kind = "vocabularies" if settings.separate else "vocabulary"
        path = cache_dir / f"{kind}-{_digest_of(sentences, settings.size)}"
        if path.is_file():
            return cls.read(path)
        learned = (cls.learn_separately if settings.separate else cls.learn)(sentences, settings.size)
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
        """Returns the number of pieces, of the larger vocabulary where there are two."""
        return max(self.separate_sizes or (int(self._source.GetPieceSize()),))

    @property
    def separate_sizes(self) -> tuple[int, int] | None:
        """The pieces of the source and of the target; None: they have one vocabulary."""
        if len(self.models) == 1:
            return None
        return int(self._source.GetPieceSize()), int(self._target.GetPieceSize())

    @property
    def is_bpe(self) -> bool:
        """Whether it is one of byte pairs, whose merges may be left out."""
        kinds = {sentencepiece_model_pb2.ModelProto.FromString(one).trainer_spec.model_type for one in self.models}
        return kinds == {sentencepiece_model_pb2.TrainerSpec.BPE}

    def has_piece(self, piece: str) -> bool:
        """Returns whether this text is one piece of a source sentence."""
        return int(self._source.PieceToId(piece)) != self.unk_id

    def encode(self, sentence: str) -> list[int]:
        """Returns the piece ids of a source sentence, without begin and end of sentence."""
        return [int(piece) for piece in self._source.EncodeAsIds(sentence)]

    def encode_all(self, sentences: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns the piece ids of all sentences in one array, and how many pieces each of them has.

        With two vocabularies, the sentences are of source and target by turns.
        """
        return flat(self._encoded(list(sentences)))

    def _encoded(self, sentences: list[str], **sampling: Any) -> list[list[int]]:
        """Returns the piece ids of each sentence. Source and target come by turns."""
        if len(self.models) == 1:
            return list(self._source.Encode(sentences, num_threads=1, **sampling))
        sides = [
            side.Encode(sentences[place::2], num_threads=1, **sampling)
            for place, side in enumerate((self._source, self._target))
        ]
        return [sides[place % 2][place // 2] for place in range(len(sentences))]

    def sample(
        self, sentences: Iterable[str], count: int, dropout: float, seed: Sequence[int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns the piece ids of sentences. Each merge is left out with probability `dropout`.

        With two vocabularies, the sentences are of source and target by turns. The same `seed` gives the same pieces.
        SentencePiece seeds its random numbers when a thread first asks for one, and it encodes each list in a new
        thread. No other Python code runs meanwhile, and so the lists are short.

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
                parts.append(flat(self._encoded(part, enable_sampling=True, alpha=dropout)))
        ids, pieces = zip(*parts, strict=True)
        return np.concatenate(ids), np.concatenate(pieces)

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the target sentence of piece ids, without pad, begin and end of sentence."""
        return str(self._target.DecodeIds([int(piece) for piece in ids]))

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


def models_of(model: bytes) -> list[bytes]:
    """Returns the SentencePiece models in a vocabulary's file: one, or that of the source and that of the target."""
    if not model.startswith(SEPARATE):
        return [model]
    start = len(SEPARATE) + LENGTH_BYTES
    end = start + int.from_bytes(model[len(SEPARATE) : start], "little")
    return [model[start:end], model[end:]]


def _processor(model: bytes) -> Any:
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except (RuntimeError, TypeError) as error:
        raise VocabularyError(f"not a SentencePiece model: {error}") from error
    return processor


def _digest_of(sentences: Iterable[str], size: int) -> str:
    digest = hashlib.sha256(f"{sentencepiece.__version__} {size} {LEARNING}".encode())
    for sentence in sentences:
        digest.update(sentence.encode())
        digest.update(b"\n")
    return digest.hexdigest()[:24]
