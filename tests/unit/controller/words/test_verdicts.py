"""Decisions in a line."""

from __future__ import annotations

import pytest

from controller.domain import Decision, Fleet, Verdict
from controller.domain.reasons import Said
from controller.words.verdicts import decision_in_words


@pytest.mark.parametrize(("verdict", "verb"), [("move", "move"), ("stay", "stay"), ("refuse", "no move")])
def test_every_verdict_has_a_verb(verdict: str, verb: str) -> None:
    fleet = Fleet({"c5.large": 1})
    decision = Decision(0.0, "p", Verdict(verdict), fleet, fleet, Said("it is so"))
    assert decision_in_words(decision) == f"{verb}: it is so"
