"""The function that puts a reason into words. Each family of reasons registers its own wording with it."""

from __future__ import annotations

from functools import singledispatch

from controller.domain.reasons import Reason, Said


@singledispatch
def reason_in_words(reason: Reason) -> str:
    """Returns the reason as a clause that a person reads: no capital letter at the start, no period at the end.

    Raises:
        TypeError: No words are registered for this kind of reason.
    """
    raise TypeError(f"no words are known for {type(reason).__name__}; register them in a module of controller.words")


@reason_in_words.register
def _(reason: Said) -> str:
    return reason.text
