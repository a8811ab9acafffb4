"""Saying a thing once."""

from __future__ import annotations

from controller.words.once import Once


def test_a_message_is_told_until_another_one_comes() -> None:
    told: list[str] = []
    once = Once(told.append)
    for message in ("a", "a", "b", "b", "a"):
        once(message)
    assert told == ["a", "b", "a"]
