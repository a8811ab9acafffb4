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


def score(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False
) -> Score:
    """Scores translations against one reference each.

    Args:
        hypotheses: The translations.
        references: What they should be, in the same order.
        tokenize: How sacreBLEU cuts text into words: "none" for text that is tokenised already.
        lowercase: Whether sacreBLEU ignores case.

    Raises:
        ValueError: There is nothing to score, or the numbers of sentences differ.
    """
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(f"cannot score {len(hypotheses)} translations against {len(references)} references")
    metric = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    bleu = metric.corpus_score(list(hypotheses), [list(references)]).score
    equal = sum(left.strip() == right.strip() for left, right in zip(hypotheses, references, strict=True))
    return Score(bleu, equal / len(hypotheses), str(metric.get_signature()))
