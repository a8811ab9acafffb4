"""Which script a language is written in, and whether a sentence is."""

from __future__ import annotations

from collections.abc import Callable

import regex

SCRIPTS = {
    "Latin": "af az bs ca cs cy da de en es et eu fi fr ga gl hr hu id is it lt lv ms mt nb nl nn no pl pt ro sk sl so "
    "sq sv sw tl tr uz vi",
    "Cyrillic": "be bg kk ky mk mn ru tg tt uk",
    "Arabic": "ar fa ps ur",
    "Devanagari": "hi mr ne",
    "Greek": "el",
    "Hebrew": "he yi",
    "Han": "zh",
    "Han Hiragana Katakana": "ja",
    "Hangul Han": "ko",
    "Thai": "th",
    "Georgian": "ka",
    "Armenian": "hy",
    "Bengali": "bn",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Sinhala": "si",
    "Khmer": "km",
    "Lao": "lo",
    "Myanmar": "my",
    "Ethiopic": "am ti",
}
"""The scripts of languages, by their codes of ISO 639-1. Serbian is written in two, and is not here."""
LEAST_SHARE = 0.5


def scripts_of(language: str) -> tuple[str, ...]:
    """Returns the scripts of a language such as `de` or `pt_BR`; none where they are not known."""
    code = language.replace("_", "-").split("-")[0].lower()
    return next((tuple(scripts.split()) for scripts, codes in SCRIPTS.items() if code in codes.split()), ())


def is_in_script(language: str) -> Callable[[str], bool]:
    """Returns the function that tells whether at least half of a sentence's letters are of the language's script.

    A sentence without letters is, and so is every one where the script of the language is not known.
    """
    scripts = scripts_of(language)
    if not scripts:
        return lambda text: True
    own = "".join(rf"\p{{Script={script}}}" for script in scripts)
    foreign, letter = regex.compile(rf"[^\P{{L}}\p{{Common}}\p{{Inherited}}{own}]"), regex.compile(r"\p{L}")
    is_latin = "Latin" in scripts

    def is_own(text: str) -> bool:
        if text.isascii():
            return is_latin or not any(map(str.isalpha, text)) or _is_mostly_own(text)
        return _is_mostly_own(text)

    def _is_mostly_own(text: str) -> bool:
        strange = len(foreign.findall(text))
        return not strange or strange <= (1 - LEAST_SHARE) * len(letter.findall(text))

    return is_own
