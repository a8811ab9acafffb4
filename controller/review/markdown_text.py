"""Text within GitHub-flavored Markdown: escaped, shortened, counted."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from controller.words.numbers import shortened

GITHUB_LIMIT = 65_536
"""Characters of a comment or a pull request's body. GitHub counts them as UTF-16 does."""
MARGIN = 1_536
"""Characters that are left for what a workflow puts around the review."""
LONGEST_ADDRESS = 200

T = TypeVar("T")


@dataclass(frozen=True)
class Cut(Iterable[T]):
    """The part of a list that is shown, and how many entries are not."""

    shown: tuple[T, ...]
    hidden: int

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.shown)


def characters(text: str) -> int:
    """Returns the length of a text as GitHub counts it: in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def code(text: str) -> str:
    """Returns a code span that stays one everywhere, also in a table's cell, whatever the text holds."""
    text = shortened(text, LONGEST_ADDRESS)
    if re.fullmatch(r"[^`|\\\x00-\x1f]+", text) and text.strip() == text:
        return f"`{text}`"
    inside = "".join(
        c if c.isalnum() or c in " .-" else f"&#{ord(c)};" for c in text.replace("\r", "").replace("\n", "↵")
    )
    return f"<code>{inside}</code>"


def plain(text: str) -> str:
    """Returns running text in which nothing is Markdown, HTML, a mention or a line break."""
    text = html.escape(" ".join(text.split()), quote=False)
    text = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)
    return re.sub(r"@(?=\w)", "@\u200b", text)


def cut(entries: Iterable[T], most: int) -> Cut[T]:
    """Returns the first entries, and the number of those that are left out."""
    everything = tuple(entries)
    return Cut(everything[:most], max(0, len(everything) - most))
