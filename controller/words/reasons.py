"""Every reason in words."""

from __future__ import annotations

from functools import singledispatch

from controller.domain.reasons import Reason, Said


@singledispatch
def reason_in_words(reason: Reason) -> str:
    """Returns the reason as a clause that a person reads: no capital letter at the start, no period at the end."""
    raise TypeError(f"no words are known for {type(reason).__name__}; register them in controller.words.reasons")


@reason_in_words.register
def _(reason: Said) -> str:
    return reason.text
