"""Normalising a sentence."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable

from trainer.settings.preparation import NormaliseSettings

WITHOUT_WIDTH = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u2060\ufeff\u00ad]")
"""Control characters but for blanks and line breaks, zero-width space, word joiner, byte order mark, soft hyphen.

The zero-width joiner and non-joiner stay: Persian and the scripts of India are written with them.
"""


def normaliser(settings: NormaliseSettings) -> Callable[[str], str]:
    """Returns the function that normalises a sentence as the settings say."""
    form, entities, control, spaces = settings.unicode, settings.entities, settings.control, settings.spaces

    def normalised(text: str) -> str:
        if entities and "&" in text:
            text = html.unescape(text)
        if form != "none" and not text.isascii():
            text = unicodedata.normalize(form, text)
        text = text.strip()
        if text.isprintable() and "  " not in text:  # then the only blanks are single spaces
            return text
        if control:
            text = WITHOUT_WIDTH.sub("", text)
        return " ".join(text.split()) if spaces else text.strip()

    return normalised
