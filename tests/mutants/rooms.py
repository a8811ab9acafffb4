"""Which code is mutated, and which tests have to notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Room:
    """A part of the code, with the tests that belong to it.

    Attributes:
        files: Patterns of the files that are mutated, from the repository's root.
        tests: The folders and files with the tests. No other test counts.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = (
    Room("act", ("controller/act/*",), ("tests/unit/controller/act",)),
    Room("decide", ("controller/decide/*",), ("tests/unit/controller/decide",)),
    Room("observe", ("controller/observe/*",), ("tests/unit/controller/observe",)),
    Room("journal", ("controller/record/journal/*",), ("tests/unit/controller/record/journal",)),
)
"""The guard is `controller/act/guard.py`, and so a part of the room act."""

WORDING = (
    r"""["'][^"']*\w+ \w+ \w+[^"']*["']""",
    r"raise \w+\(",
)
"""Lines that match are not mutated: text of three words and more is for people, and no test holds each word of it."""
