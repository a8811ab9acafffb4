"""The arrays of a shard: its sentence pairs as ids, and as text."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.data.samples import Pair


@dataclass(frozen=True)
class ShardArrays:
    """Sentence pairs in flat arrays: source, target, source, and so on.

    Attributes:
        ids: The piece ids of all sentences. Shape (ids,).
        pieces: How many pieces source and target have. Shape (pairs, 2).
        text: All sentences as UTF-8. Shape (bytes,).
        text_bytes: How many bytes source and target have. Shape (pairs, 2).
    """

    ids: NDArray[Any]
    pieces: NDArray[np.uint32]
    text: NDArray[np.uint8]
    text_bytes: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.pieces)


def joined(parts: Sequence[ShardArrays]) -> ShardArrays:
    """Returns the pairs of all parts, one part after another."""
    return ShardArrays(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.pieces for part in parts]),
        np.concatenate([part.text for part in parts]),
        np.concatenate([part.text_bytes for part in parts]),
    )


def text_arrays(pairs: Iterable[Pair]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Returns the arrays `text` and `text_bytes` of sentence pairs."""
    sentences = [text.encode() for pair in pairs for text in pair]
    counts = np.fromiter(map(len, sentences), dtype=np.uint32, count=len(sentences)).reshape(-1, 2)
    return np.frombuffer(b"".join(sentences), dtype=np.uint8), counts


def arrays_of_ids(ids: NDArray[Any], pieces: NDArray[Any], vocabulary_pieces: int) -> dict[str, NDArray[Any]]:
    """Returns the arrays of a shard's file of ids.

    Args:
        ids: The piece ids of all sentences. Shape (ids,).
        pieces: How many pieces source and target have. Shape (pairs, 2).
        vocabulary_pieces: How many pieces the vocabulary has. Ids take two bytes where that is enough.
    """
    return {"ids": ids.astype(smallest_type(vocabulary_pieces), copy=False), "pieces": pieces.astype(np.uint32)}


def arrays_of_text(text: NDArray[np.uint8], text_bytes: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Returns the arrays of a shard's file of text. See `ShardArrays` for the arguments."""
    return {"text": text, "text_bytes": text_bytes.astype(np.uint32)}


def smallest_type(ids: int) -> type[np.uint16] | type[np.uint32]:
    """Returns the smaller type that holds all ids below `ids`."""
    return np.uint16 if ids <= 1 << 16 else np.uint32


class MappedText(Sequence[Pair]):
    """The sentence pairs of a shard, of which each is decoded when it is asked for."""

    def __init__(self, text: NDArray[np.uint8], text_bytes: NDArray[np.uint32]) -> None:
        self._text, self._text_bytes = text, text_bytes

    def __len__(self) -> int:
        return len(self._text_bytes)

    def __getitem__(self, index: Any) -> Any:
        """Returns a pair; for a slice, a list of pairs."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._between(start, stop) if step == 1 else [self[number] for number in range(start, stop, step)]
        ends, lengths = self._ends[index].tolist(), self._text_bytes[index].tolist()
        source, target = (bytes(self._text[end - n : end]).decode() for end, n in zip(ends, lengths, strict=True))
        return source, target

    def _between(self, start: int, stop: int) -> list[Pair]:
        """Returns pairs that follow each other. It takes a quarter of the time of asking for each."""
        ends = np.cumsum(self._text_bytes[start:stop], dtype=np.int64)  # (sentences,)
        if not len(ends):
            return []
        first = int(self._text_bytes[:start].sum(dtype=np.int64))
        content = self._text[first : first + int(ends[-1])].tobytes()
        bounds = [0, *ends.tolist()]
        sentences = [content[begin:end].decode() for begin, end in itertools.pairwise(bounds)]
        return list(zip(sentences[::2], sentences[1::2], strict=True))

    @functools.cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Where the sentences end in the text, shape (pairs, 2). It takes memory once a pair is asked for."""
        return np.cumsum(self._text_bytes, dtype=np.int64).reshape(-1, 2)
