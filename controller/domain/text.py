"""Text from outside, made harmless before it is kept or shown."""

from __future__ import annotations

import unicodedata

_HARMFUL = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode's categories of control characters, such as the escape that begins a terminal's commands, of characters that
change the direction of writing, and of ends of lines."""


def one_line(text: str, most: int) -> str:
    """Returns the text on one line with at most `most` characters. A harmful character becomes a space."""
    clean = "".join(" " if unicodedata.category(each) in _HARMFUL else each for each in text[: 4 * most])
    short = " ".join(clean.split())
    return short if len(short) <= most else short[: most - 1] + "…"


def lines(text: str, most: int) -> str:
    """Returns the last `most` characters of the text, line by line without harmful characters."""
    return "\n".join(one_line(line, most) for line in text[-most:].splitlines()).strip()
