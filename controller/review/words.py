"""Numbers and values as people read them, with units. What is not known is said to be so."""

from __future__ import annotations

import json
from typing import Any

from controller.domain import FlavorEstimate
from controller.plan import Marker

NOT_MEASURED = "not measured yet"
NO_PRICE = "no price"
LONGEST_VALUE = 80
BULKY = ("user_data", "user_data_base64")
"""Attributes whose value says nothing to a reader."""


def usd(value: float | None, unknown: str = NOT_MEASURED) -> str:
    """Dollars with as many digits as matter: 0.0052 $, 1.50 $."""
    if value is None:
        return unknown
    if abs(value) >= 1:
        return f"{value:,.2f} $"
    return "0 $" if value == 0 else f"{value:.4f} $" if abs(value) >= 0.001 else f"{value:.2g} $"


def duration(seconds: float | None) -> str:
    """Seconds as the two largest units that matter: 2 h 05 min, 42 s."""
    if seconds is None:
        return NOT_MEASURED
    total = round(seconds)
    minutes, s = divmod(total, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02d} h"
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {s:02d} s" if minutes else f"{s} s"


def signed(text: str, value: float) -> str:
    """The text of a number's absolute value, with its sign (a real minus)."""
    return f"{'+' if value > 0 else '−' if value < 0 else '±'}{text}"


def percent(share: float | None) -> str:
    """A signed share of 1: −34.2%."""
    return "" if share is None else signed(f"{abs(share) * 100:.1f}%", round(share, 4))


def speed(tokens_per_s: float | None) -> str:
    return NOT_MEASURED if tokens_per_s is None else f"{tokens_per_s:,.0f}"


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


def value(path: str, leaf: Any) -> str:
    """A leaf of a resource in one short line."""
    if leaf is None:
        return "nothing"
    if isinstance(leaf, Marker):
        return str(leaf)
    if path.partition(".")[0] in BULKY:
        return f"(script of {len(str(leaf)):,} characters)"
    text = leaf if isinstance(leaf, str) else json.dumps(leaf, sort_keys=True)
    return shortened(text, LONGEST_VALUE)


def shortened(text: str, longest: int) -> str:
    """The text in at most so many characters, its end kept as well: that is where addresses differ."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"
