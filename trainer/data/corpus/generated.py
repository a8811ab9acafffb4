"""English-Portuguese dates, numbers, amounts of money and durations, made from CLDR (Babel) and num2words.

Every pair is a translation as these libraries write it. The years are from 1970 to 2069, so that the two digits of
CLDR's short English date name one year. The sources of the pairs are distinct, so that the splits share no sentence.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable

from babel import dates, lists, numbers, units
from num2words import num2words

from trainer.data.corpus.common import Corpus, CorpusError, language_pair
from trainer.data.samples import Pair
from trainer.settings.data import CorpusSettings

_NUM2WORDS = {"en": "en", "pt": "pt_BR"}
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_LAST_DAY = datetime.date(2069, 12, 31).toordinal()
_CURRENCIES = ("USD", "EUR", "BRL", "GBP", "JPY", "CHF")
# Babel 2.17 has no Portuguese for the units of days, months and years (CLDR aliases that it does not follow).
_DURATION_UNITS = (("decade", 99), ("week", 51), ("hour", 23), ("minute", 59), ("second", 59), ("millisecond", 999))
_MAX_ATTEMPTS_PER_PAIR = 20

Writer = Callable[[str], str]
"""Writes one value in a language, "en" or "pt". CLDR's "pt" is the Portuguese of Brazil, as is num2words' "pt_BR"."""


def _date(rng: random.Random) -> Writer:
    day = datetime.date.fromordinal(rng.randint(_FIRST_DAY, _LAST_DAY))
    style = rng.choice(("short", "medium", "long", "full"))
    return lambda language: dates.format_date(day, style, locale=language)


def _number_in_words(rng: random.Random) -> Writer:
    number = rng.randrange(10 ** rng.randint(1, 6))
    return lambda language: num2words(number, lang=_NUM2WORDS[language])


def _ordinal_in_words(rng: random.Random) -> Writer:
    number = rng.randrange(1, 1000)
    return lambda language: num2words(number, lang=_NUM2WORDS[language], to="ordinal")


def _decimal(rng: random.Random) -> Writer:
    number = round(rng.uniform(0, 10 ** rng.randint(2, 7)), rng.randint(0, 3))
    return lambda language: numbers.format_decimal(number, locale=language)


def _amount(rng: random.Random) -> Writer:
    amount = round(rng.uniform(0, 10 ** rng.randint(1, 6)), 2)
    currency, named = rng.choice(_CURRENCIES), rng.random() < 0.5
    return lambda language: numbers.format_currency(
        amount, currency, locale=language, format_type="name" if named else "standard"
    )


def _duration(rng: random.Random) -> Writer:
    chosen = sorted(rng.sample(range(len(_DURATION_UNITS)), rng.randint(1, 3)))
    parts = [(rng.randint(1, _DURATION_UNITS[index][1]), f"duration-{_DURATION_UNITS[index][0]}") for index in chosen]

    def write(language: str) -> str:
        return lists.format_list([units.format_unit(*part, locale=language) for part in parts], "unit", locale=language)

    return write


_KINDS = (_date, _number_in_words, _ordinal_in_words, _decimal, _amount, _duration)
_WEIGHTS = (25, 20, 5, 10, 20, 20)


def _clean(text: str) -> str:
    """Returns the text with plain spaces in place of CLDR's no-break spaces, so that words are cut alike."""
    return " ".join(text.split())


def distinct_pairs(count: int, source: str, target: str, seed: int) -> list[Pair]:
    """Returns `count` pairs with distinct sources in random order, the same on every machine."""
    rng = random.Random(seed)
    found: dict[str, str] = {}
    for _ in range(count * _MAX_ATTEMPTS_PER_PAIR):
        if len(found) == count:
            return list(found.items())
        write = rng.choices(_KINDS, _WEIGHTS)[0](rng)
        found.setdefault(_clean(write(source)), _clean(write(target)))
    raise CorpusError(f"{count} distinct pairs cannot be made, only about {len(found)}: ask for fewer `pairs`")


def load(settings: CorpusSettings) -> Corpus:
    """Makes the corpus: `pairs` for training, `held_out` for validation and as many for the test. Takes some 2 s."""
    source, target = language_pair(settings, ("en", "pt"))
    if settings.pairs < 1 or settings.held_out < 1:
        raise CorpusError(f"`pairs` and `held_out` must be 1 or more, not {settings.pairs} and {settings.held_out}")
    held_out = settings.held_out
    made = distinct_pairs(settings.pairs + 2 * held_out, source, target, settings.seed)
    return Corpus("generated", made[2 * held_out :], made[:held_out], made[held_out : 2 * held_out])
