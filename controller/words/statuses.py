"""The status of a run as people read it."""

from __future__ import annotations


def status_in_words(status: str) -> str:
    """Returns how a run stands: `running`, `finished`, `failed`, `budget reached`, `stopped` and so on."""
    return status.replace("_", " ")
