"""The score of translations by their characters: chrF (Popović 2015, https://aclanthology.org/W15-3049)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.chrf import CHRF

from trainer.inference.score import check_numbers


@dataclass(frozen=True)
class CharacterScore:
    """chrF2 of some translations, from 0 to 100, and sacreBLEU's signature, which says how it was computed."""

    chrf: float
    signature: str


def character_score(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> CharacterScore:
    """Scores translations against one reference each.

    Args:
        hypotheses: The translations.
        references: What they should be, in the same order.
        lowercase: Whether sacreBLEU ignores case.

    Raises:
        ValueError: There is nothing to score, or the numbers of sentences differ.
    """
    check_numbers(hypotheses, references)
    metric = CHRF(lowercase=lowercase)
    found = metric.corpus_score(list(hypotheses), [list(references)]).score
    return CharacterScore(found, str(metric.get_signature()))
