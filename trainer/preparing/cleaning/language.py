"""Which language a sentence is in, by the package lingua-language-detector where it is there.

Lingua (https://github.com/pemistahl/lingua-py) brings its models with it, and tells short texts apart better than most.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from trainer.preparing.errors import PreparationError


def is_in_language(language: str) -> Callable[[str], bool]:
    """Returns the function that tells whether a sentence is in a language, as far as that can be told.

    Raises:
        PreparationError: The package is missing, or does not know the language.
    """
    detector, wanted = _detector(), _language(language)

    def is_own(text: str) -> bool:
        found = detector.detect_language_of(text)
        return found is None or found == wanted

    return is_own


@functools.cache
def _detector() -> Any:
    """Returns the detector of all languages. A process makes it once: its models take some time and memory."""
    return _lingua().LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()


def _language(code: str) -> Any:
    lingua, short = _lingua(), code.replace("_", "-").split("-")[0].upper()
    short = {"NO": "NB"}.get(short, short)
    try:
        return lingua.Language.from_iso_code_639_1(getattr(lingua.IsoCode639_1, short))
    except AttributeError as error:
        raise PreparationError(f"filters.language: the package lingua does not know the language {code}") from error


def _lingua() -> Any:
    try:
        return import_module("lingua")
    except ImportError as error:
        raise PreparationError(
            "filters.language needs the package lingua-language-detector: make setup TEXT=1, or "
            "pip install lingua-language-detector"
        ) from error
