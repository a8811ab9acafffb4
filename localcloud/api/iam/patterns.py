"""Patterns of IAM: `*` stands for any text, `?` for one character."""

from __future__ import annotations

import re


def fits(pattern: str, text: str, fold: bool = False) -> bool:
    """Returns whether a text fits a pattern. `fold` ignores case."""
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, text, re.DOTALL | (re.IGNORECASE if fold else 0)) is not None
