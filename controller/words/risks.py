"""How sure a decision is, in words."""

from __future__ import annotations

from controller.domain import Risk
from controller.words.numbers import duration, usd

SURE, UNSURE = 0.001, 0.999


def chance(share: float) -> str:
    """Returns a chance in words for people."""
    if share < SURE:
        return "less than 0.1%"
    return "more than 99.9%" if share > UNSURE else f"{share:.1%}"


def risk_in_words(risk: Risk) -> list[str]:
    """Returns sentences on how sure a decision is; nothing of what is not known."""
    words = []
    if risk.rival is not None and risk.chance_wrong is not None:
        words.append(f"chance that {risk.rival} would have been better: {chance(risk.chance_wrong)}{_loss(risk)}")
    if risk.chance_kept is not None:
        words.append(f"chance that deadline and budget are kept: {chance(risk.chance_kept)}")
    return words


def _loss(risk: Risk) -> str:
    if risk.wrong_usd:
        return f", by {usd(risk.wrong_usd)} on average"
    return f", by {duration(risk.wrong_s)} on average" if risk.wrong_s else ""
