"""Verdicts as people read them."""

from __future__ import annotations

from controller.domain import Decision, Verdict
from controller.words.reasons import reason_in_words

VERBS = {Verdict.MOVE: "move", Verdict.STAY: "stay", Verdict.REFUSE: "no move"}


def decision_in_words(decision: Decision) -> str:
    """Returns a decision in a line: `stay: the fleet is the cheapest there is`."""
    return f"{VERBS[decision.verdict]}: {reason_in_words(decision.reason)}"
