"""Errors of pydantic in sentences that name the entry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError


def explain(error: ValidationError, known: Iterable[str] = ()) -> list[str]:
    """Returns one sentence for each entry that is wrong.

    Args:
        error: what pydantic raised.
        known: the names of all entries, which the sentence about an unknown entry lists.
    """
    return [_sentence(dict(problem), known) for problem in error.errors()]


def _sentence(problem: dict[str, Any], known: Iterable[str]) -> str:
    entry = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        return f"{entry}: unknown entry; known are {', '.join(known)}"
    return f"{entry}: {message} (got {problem['input']!r})" if entry else message
