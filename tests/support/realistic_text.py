"""A generator of parallel text like that of news and talks: Zipf's words, and sentences of real lengths.

Lengths are log-normal: in words, WMT's news has a median of about 20 and one sentence in a hundred above 70. A word's
translation has other letters and about its length, and the order of words differs a little. No two pairs are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

WORDS = 200_000
MEDIAN_WORDS, SPREAD = 20.0, 0.55
ZIPF = 1.05
BLOCK = 20_000
LETTERS = ("etaoinshrdlcumwfgypbvk", "enisratdhulcgmobwfkzvp")


def write_parallel(folder: Path, pairs: int, seed: int = 1) -> tuple[Path, Path]:
    """Writes `pairs` lines of `text.en` and `text.de` into a folder. Returns both paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "text.en", folder / "text.de"
    with paths[0].open("w", encoding="utf-8") as source, paths[1].open("w", encoding="utf-8") as target:
        for sources, targets in _blocks(pairs, seed):
            source.writelines(sources)
            target.writelines(targets)
    return paths


def _blocks(pairs: int, seed: int) -> Iterator[tuple[list[str], list[str]]]:
    rng = np.random.default_rng(seed)
    dictionaries = [_words(rng, letters) for letters in LETTERS]
    weights = 1.0 / np.arange(1, WORDS + 1) ** ZIPF
    cumulated = np.cumsum(weights / weights.sum())
    for start in range(0, pairs, BLOCK):
        lengths = np.clip(rng.lognormal(np.log(MEDIAN_WORDS), SPREAD, min(BLOCK, pairs - start)), 2, 120).astype(int)
        ids = np.minimum(np.searchsorted(cumulated, rng.random(lengths.sum())), WORDS - 1)
        sentences = np.split(ids, np.cumsum(lengths)[:-1])
        yield tuple(  # type: ignore[misc]
            [_sentence(words, one if side == 0 else _reordered(one), start + number)
             for number, one in enumerate(sentences)]
            for side, words in enumerate(dictionaries)
        )  # fmt: skip


def _words(rng: np.random.Generator, letters: str) -> list[str]:
    """Returns words of which the frequent ones are short."""
    lengths = np.clip(rng.poisson(2.0 + np.log(np.arange(1, WORDS + 1)) / 1.8), 1, 16)
    spelled = rng.choice(list(letters), size=int(lengths.sum()), p=_falling(len(letters)))
    ends = np.cumsum(lengths)
    whole = "".join(spelled)
    return [whole[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]


def _falling(count: int) -> np.ndarray:
    weights = 1.0 / np.arange(2, count + 2) ** 0.8
    return np.asarray(weights / weights.sum())


def _reordered(sentence: np.ndarray) -> np.ndarray:
    half = len(sentence) // 2
    return np.concatenate([sentence[:half], sentence[half:][::-1]])


def _sentence(words: list[str], sentence: np.ndarray, number: int) -> str:
    text = " ".join([words[index] for index in sentence.tolist()])
    return f"{text[:1].upper()}{text[1:]}, {number}.\n" if number % 3 == 0 else f"{text[:1].upper()}{text[1:]}.\n"
