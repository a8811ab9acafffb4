"""Which sentence pairs are left out, each for the first reason that holds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from enum import Enum

from trainer.preparing.cleaning.language import is_in_language
from trainer.preparing.cleaning.scripts import is_in_script
from trainer.settings.preparation import PreparationSettings

Test = Callable[[str, str], bool]


class Reason(str, Enum):
    """Why a pair is left out, in the order in which reasons are looked for."""

    EMPTY = "empty"
    IDENTICAL = "identical"
    TOO_LONG = "too long"
    RATIO = "length ratio"
    SCRIPT = "wrong script"
    LANGUAGE = "wrong language"
    HELD_OUT = "held out"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near duplicate"


def filters_of(settings: PreparationSettings) -> list[tuple[Reason, Test]]:
    """Returns the reasons that one pair alone can have, each with the test for it.

    Raises:
        PreparationError: A package is missing that a filter needs.
    """
    return list(_filters_of(settings))


def _filters_of(settings: PreparationSettings) -> Iterator[tuple[Reason, Test]]:
    filters = settings.filters
    yield Reason.EMPTY, lambda source, target: not source or not target
    if filters.identical:
        yield Reason.IDENTICAL, lambda source, target: source == target
    if filters.max_characters is not None or filters.max_words is not None:
        characters, words = filters.max_characters or 2**62, filters.max_words or 2**62
        is_long = functools.partial(_is_long, characters=characters, words=words)
        yield Reason.TOO_LONG, lambda source, target: is_long(source) or is_long(target)
    if filters.max_ratio is not None:
        ratio = filters.max_ratio
        yield Reason.RATIO, lambda source, target: _ratio(source, target) > ratio
    languages = (settings.source, settings.target)
    if filters.script:
        yield Reason.SCRIPT, _unless(*map(is_in_script, languages))
    if filters.language:
        yield Reason.LANGUAGE, _unless(*map(is_in_language, languages))


def _is_long(text: str, characters: int, words: int) -> bool:
    return len(text) > characters or (len(text) > words and text.count(" ") >= words)


def _ratio(source: str, target: str) -> float:
    """Returns how many times as many bytes the longer side has: scripts that need few characters need more bytes."""
    one, other = len(source.encode()), len(target.encode())
    return other / one if other > one else one / other


def _unless(is_good_source: Callable[[str], bool], is_good_target: Callable[[str], bool]) -> Test:
    return lambda source, target: not (is_good_source(source) and is_good_target(target))
