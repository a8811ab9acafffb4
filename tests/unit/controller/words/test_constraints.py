"""Deadline and budget in words."""

from __future__ import annotations

from controller.words.constraints import constraints_in_words, lateness, rest_of_budget

AT = 1_800_000_600.0


def test_only_what_there_is_of_deadline_and_budget_is_said() -> None:
    assert constraints_in_words(AT, 5.0) == ["deadline 2027-01-15T08:10:00Z", "budget $5.00"]
    assert constraints_in_words(AT, None) == ["deadline 2027-01-15T08:10:00Z"]
    assert constraints_in_words(None, None) == []


def test_what_became_of_them_is_said() -> None:
    assert (lateness(100.0), lateness(-3700.0)) == ("missed by 1 min 40 s", "1 h 02 min to spare")
    assert (rest_of_budget(-0.5), rest_of_budget(1.25)) == ("exceeded by $0.5000", "$1.25 left")
