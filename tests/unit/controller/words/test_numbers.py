"""Numbers as people read them: digits, units, signs, and what is not known."""

from __future__ import annotations

import pytest

from controller.words.numbers import (
    BLANK,
    NOT_MEASURED,
    UNKNOWN,
    cell,
    duration,
    milliseconds,
    number,
    percent,
    percentage,
    usd,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0775, "$0.0775"),
        (-0.02, "-$0.0200"),
        (0.005231, "$0.00523"),
        (1.5, "$1.50"),
        (1234.5, "$1,234.50"),
        (0, "$0"),
    ],
)
def test_money_has_its_sign_first_and_as_many_digits_as_matter(value: float, text: str) -> None:
    assert usd(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "5 s"), (65, "1 min 05 s"), (120, "2 min"), (3700, "1 h 02 min"), (7500, "2 h 05 min"), (90_000, "1 d 01 h")],
)
def test_a_duration_is_as_coarse_as_it_is_long(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_is_not_known_is_said_in_a_sentence_and_a_dash_in_a_table() -> None:
    assert (number(None), percentage(None), usd(None, UNKNOWN)) == (UNKNOWN, UNKNOWN, UNKNOWN)
    assert (cell(None), cell(None, 4), milliseconds(None)) == (BLANK, BLANK, BLANK)
    assert (usd(None), duration(None), duration(None, UNKNOWN)) == (NOT_MEASURED, NOT_MEASURED, UNKNOWN)


def test_numbers_have_separators_and_the_digits_that_are_asked_for() -> None:
    assert (number(1480), number(0.3014, 3), cell(9033.4), milliseconds(1.2345)) == ("1,480", "0.301", "9,033", "1,234")


def test_a_percentage_is_given_as_such_and_a_share_with_its_sign() -> None:
    assert (percentage(64.34), percent(-0.342), percent(0.05), percent(0.0)) == ("64.3%", "−34.2%", "+5.0%", "±0.0%")
