"""How sure a decision is, in words: a golden file."""

from __future__ import annotations

import os
from pathlib import Path

from controller.domain import Fleet, Risk
from controller.words.risks import risk_in_words

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "words" / "risks.txt"
BEST = Fleet({"c5.large": 6})
EXAMPLES = (
    Risk(),
    Risk(BEST, 0.034, wrong_usd=0.12),
    Risk(BEST, 0.034, wrong_s=95.0),
    Risk(BEST, 0.0, wrong_usd=0.0),
    Risk(BEST, 0.9999, wrong_usd=3.5, chance_kept=0.9995),
    Risk(chance_kept=0.987),
    Risk(chance_kept=0.0),
)


def test_every_risk_is_put_into_the_same_words_as_before() -> None:
    text = "".join("; ".join(risk_in_words(risk)) + "\n" for risk in EXAMPLES)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
