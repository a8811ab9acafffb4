"""A sample has each kind in it, is the same each time, and is everything on CI."""

from __future__ import annotations

import pytest

from tests.support.sampling import sample

CASES = [f"{kind}{number}" for number in range(10) for kind in "abc"] + ["d0"]


def test_it_is_one_in_so_many_of_each_kind_which_begin_at_different_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    sampled = sample(CASES, lambda case: case[0], every=4)
    assert sampled == ["a0", "b1", "c2", "a4", "b5", "c6", "a8", "b9", "d0"]


def test_on_ci_it_is_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert sample(CASES, lambda case: case[0], every=4) == CASES
