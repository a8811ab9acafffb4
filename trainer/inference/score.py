"""Scores of translations by sacreBLEU (Post 2018, https://aclanthology.org/W18-6319): BLEU, chrF, and exact match.

BLEU is of Papineni et al. 2002 (https://aclanthology.org/P02-1040), chrF of Popović 2015
(https://aclanthology.org/W15-3049).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


@dataclass(frozen=True)
class Score:
    """The score of some translations.

    Attributes:
        bleu: From 0 to 100.
        chrf: chrF2, from 0 to 100.
        exact_match: The share, from 0 to 1, of translations that equal their reference.
        signature: How sacreBLEU computed BLEU.
        chrf_signature: How sacreBLEU computed chrF.
    """

    bleu: float
    chrf: float
    exact_match: float
    signature: str
    chrf_signature: str


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
    texts = list(hypotheses), [list(references)]
    bleu, chrf = BLEU(tokenize=tokenize, lowercase=lowercase, force=True), CHRF(lowercase=lowercase)
    scores = bleu.corpus_score(*texts).score, chrf.corpus_score(*texts).score
    equal = sum(left.strip() == right.strip() for left, right in zip(hypotheses, references, strict=True))
    return Score(*scores, equal / len(hypotheses), str(bleu.get_signature()), str(chrf.get_signature()))
