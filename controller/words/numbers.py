"""Numbers and values as people read them, with units. What is not known is said to be so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from controller.domain import FlavorEstimate

NOT_MEASURED = "not measured yet"
NO_PRICE = "no price"


def usd(value: float | None, unknown: str = NOT_MEASURED) -> str:
    """Returns dollars with as many digits as matter: `$0.00523`, `$0.0928`, `$1.50`, `-$0.02`."""
    if value is None:
        return unknown
    return f"{'-' if value < 0 else ''}${abs(value):,.{_usd_decimals(value)}f}" if value else "$0"


def _usd_decimals(value: float) -> int:
    """Cents from a dollar on; below, as prices are listed, and at least three digits that say something."""
    return 2 if value == 0 or abs(value) >= 1 else max(4, 2 - math.floor(math.log10(abs(value))))


def duration(seconds: float | None) -> str:
    """Seconds as the two largest units that matter: 2 h 05 min, 13 min 04 s, 42 s."""
    if seconds is None:
        return NOT_MEASURED
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
    """Seconds below an hour, minutes below a day, hours."""
    grain = 1 if abs(seconds) < 3600 else 60 if abs(seconds) < 86_400 else 3600
    return round(seconds / grain) * grain


def signed(text: str, value: float) -> str:
    """The text of a number's absolute value, with its sign (a real minus)."""
    return f"{'+' if value > 0 else '−' if value < 0 else '±'}{text}"


def percent(share: float | None) -> str:
    """A signed share of 1: −34.2%."""
    return "" if share is None else signed(f"{abs(share) * 100:.1f}%", round(share, 4))


def speed(tokens_per_s: float | None) -> str:
    return NOT_MEASURED if tokens_per_s is None else f"{tokens_per_s:,.0f}"


@dataclass(frozen=True)
class Unit:
    """How a quantity is written, and rounded to what is written of it."""

    write: Callable[[float | None], str]
    rounded: Callable[[float], float]


USD = Unit(usd, lambda value: round(value, _usd_decimals(value)))
DURATION = Unit(duration, _round_duration)
SPEED = Unit(speed, round)


def speed_with_interval(estimate: FlavorEstimate | None) -> str:
    """Tokens per second with their interval: 9,033 (8,800 to 9,270)."""
    if estimate is None or estimate.tokens_per_s is None:
        return NOT_MEASURED
    low, high = estimate.tokens_per_s_low, estimate.tokens_per_s_high
    interval = f" ({speed(low)} to {speed(high)})" if low is not None and high is not None else ""
    return speed(estimate.tokens_per_s) + interval


def nodes(count: int | None) -> str:
    return "–" if count is None else str(count)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(text: str, longest: int) -> str:
    """The text in at most so many characters, its end kept as well: that is where addresses differ."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"
