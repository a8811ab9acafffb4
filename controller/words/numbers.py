"""Numbers as people read them, with their units.

An unknown number is `UNKNOWN` in a sentence and `BLANK` in a table, unless there is something better to say of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from controller.domain import FlavorEstimate

UNKNOWN = "not known"
"""An unknown number in a sentence."""
BLANK = "–"
"""An unknown number in a table."""
NOT_MEASURED = "not measured yet"
"""A number that is unknown because no training has run yet."""
NO_PRICE = "no price"
"""A cost that is unknown because a flavor has no price."""


def number(value: float | None, digits: int = 0, unknown: str = UNKNOWN) -> str:
    """Returns a number with separators: `1,480`, `0.301`."""
    return unknown if value is None else f"{value:,.{digits}f}"


def cell(value: float | None, digits: int = 0) -> str:
    """Returns a number as it stands in a table whose head has the unit."""
    return number(value, digits, BLANK)


def mebibytes(amount: int) -> str:
    """Returns an amount of memory in MiB, of which a full MiB counts: `3,584 MiB`."""
    return f"{amount // 1024**2:,} MiB"


def milliseconds(seconds: float | None) -> str:
    """Returns seconds as milliseconds, as they stand in a table whose head has the unit."""
    return cell(None if seconds is None else 1e3 * seconds)


def usd(value: float | None, unknown: str = NOT_MEASURED) -> str:
    """Returns dollars with as many digits as matter: `$0.00523`, `$0.0928`, `$1.50`, `-$0.02`."""
    if value is None:
        return unknown
    return f"{'-' if value < 0 else ''}${abs(value):,.{_usd_decimals(value)}f}" if value else "$0"


def _usd_decimals(value: float) -> int:
    """Returns two from a dollar on; below, four as prices are listed, or more for three digits that say something."""
    return 2 if value == 0 or abs(value) >= 1 else max(4, 2 - math.floor(math.log10(abs(value))))


def duration(seconds: float | None, unknown: str = NOT_MEASURED) -> str:
    """Returns seconds as the two largest units that matter: `2 h 05 min`, `13 min 04 s`, `42 s`."""
    if seconds is None:
        return unknown
    total = _round_duration(seconds)
    minutes, s = divmod(total, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02d} h"
    if hours:
        return f"{hours} h {minutes:02d} min"
    if minutes:
        return f"{minutes} min {s:02d} s" if s else f"{minutes} min"
    return f"{s} s"


def _round_duration(seconds: float) -> int:
    """Rounds to seconds below an hour, to minutes below a day, and else to hours."""
    grain = 1 if abs(seconds) < 3600 else 60 if abs(seconds) < 86_400 else 3600
    return round(seconds / grain) * grain


def percentage(percent: float | None, unknown: str = UNKNOWN) -> str:
    """Returns a percentage that is given as such: `34.2%` of 34.2."""
    return unknown if percent is None else f"{percent:,.1f}%"


def signed(text: str, value: float) -> str:
    """Returns the text of a number's absolute value, with the number's sign (a real minus)."""
    return f"{'+' if value > 0 else '−' if value < 0 else '±'}{text}"


def percent(share: float | None) -> str:
    """Returns a share of 1 as a signed percentage: `−34.2%` of -0.342."""
    return "" if share is None else signed(percentage(abs(share) * 100), round(share, 4))


def speed(tokens_per_s: float | None) -> str:
    """Returns tokens per second without their unit: `9,033`."""
    return number(tokens_per_s, unknown=NOT_MEASURED)


@dataclass(frozen=True)
class Unit:
    """How a quantity is written, and rounded to what is written of it."""

    write: Callable[[float | None], str]
    rounded: Callable[[float], float]


USD = Unit(usd, lambda value: round(value, _usd_decimals(value)))
DURATION = Unit(duration, _round_duration)
SPEED = Unit(speed, round)


def speed_with_interval(estimate: FlavorEstimate | None) -> str:
    """Returns tokens per second with their interval: `9,033 (8,800 to 9,270)`."""
    if estimate is None or estimate.tokens_per_s is None:
        return NOT_MEASURED
    low, high = estimate.tokens_per_s_low, estimate.tokens_per_s_high
    interval = f" ({speed(low)} to {speed(high)})" if low is not None and high is not None else ""
    return speed(estimate.tokens_per_s) + interval


def nodes(count: int | None) -> str:
    """Returns a number of nodes as it stands in a table."""
    return BLANK if count is None else str(count)


def plural(count: int, noun: str) -> str:
    """Returns a count with its noun: `1 node`, `1,480 nodes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(text: str, longest: int) -> str:
    """Returns the text in at most so many characters, with its beginning and its end: addresses differ at the end."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"
