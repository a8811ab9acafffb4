"""Reasons as whole sentences, for error messages."""

from __future__ import annotations

from controller.domain.reasons import Reason
from controller.words.reasons.dispatch import reason_in_words


def as_sentence(reason: Reason) -> str:
    """Returns the reason with a capital letter at the start and a period at the end."""
    words = reason_in_words(reason)
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) else ".")
