"""Scores of translations: sacreBLEU (Post 2018, https://aclanthology.org/W18-6319) and exact match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU


@dataclass(frozen=True)
class Score:
    """The score of some translations.

    Attributes:
        bleu: From 0 to 100.
        exact_match: The share, from 0 to 1, of translations that equal their reference.
        signature: How sacreBLEU computed the score.
    """

    bleu: float
    exact_match: float
    signature: str

    @property
    def told(self) -> str:
        """The score for a person."""
        return f"BLEU {self.bleu:.2f} ({self.signature}), exact match {self.exact_match:.2%}"


@dataclass(frozen=True)
class Statistics:
    """What a score is computed from. The statistics of some sentences and of others add up.

    Attributes:
        sentences: How many translations there are.
        equal: How many of them equal their reference.
        words: The words of the translations and of the references.
        correct: How many n-grams of 1, 2, 3 and 4 words the references have, too.
        total: How many n-grams there are.
        signature: How sacreBLEU counted.
    """

    sentences: int
    equal: int
    words: tuple[int, int]
    correct: tuple[int, ...]
    total: tuple[int, ...]
    signature: str

    def __add__(self, other: Statistics) -> Statistics:
        """Returns the statistics of both."""
        return Statistics(
            self.sentences + other.sentences,
            self.equal + other.equal,
            (self.words[0] + other.words[0], self.words[1] + other.words[1]),
            tuple(map(sum, zip(self.correct, other.correct, strict=True))),
            tuple(map(sum, zip(self.total, other.total, strict=True))),
            self.signature,
        )

    def score(self) -> Score:
        """Returns the score."""
        bleu = BLEU.compute_bleu(
            list(self.correct), list(self.total), *self.words, smooth_method=BLEU().smooth_method
        ).score
        return Score(bleu, self.equal / self.sentences, self.signature)


def score(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False
) -> Score:
    """Scores translations against one reference each. See `statistics_of`."""
    return statistics_of(hypotheses, references, tokenize, lowercase).score()


def check_numbers(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raises ValueError where there is nothing to score, or where the numbers of sentences differ."""
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(f"cannot score {len(hypotheses)} translations against {len(references)} references")


def statistics_of(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False
) -> Statistics:
    """Counts what a score of translations needs, against one reference each.

    Args:
        hypotheses: The translations.
        references: What they should be, in the same order.
        tokenize: How sacreBLEU cuts text into words: "none" for text that is tokenised already.
        lowercase: Whether sacreBLEU ignores case.

    Raises:
        ValueError: There is nothing to score, or the numbers of sentences differ.
    """
    check_numbers(hypotheses, references)
    metric = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    counted = metric.corpus_score(list(hypotheses), [list(references)])
    equal = sum(left.strip() == right.strip() for left, right in zip(hypotheses, references, strict=True))
    return Statistics(
        len(hypotheses),
        equal,
        (int(counted.sys_len), int(counted.ref_len)),
        tuple(map(int, counted.counts)),
        tuple(map(int, counted.totals)),
        str(metric.get_signature()),
    )
