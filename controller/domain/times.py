"""Times of day as text: ISO 8601 with a zone."""

from __future__ import annotations

from datetime import datetime, timezone


def iso(at: float) -> str:
    """Returns a time (seconds since the epoch) as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: object) -> float:
    """Returns the seconds since the epoch of a time in ISO 8601 with its zone (`2026-11-21T06:00:00Z`).

    Raises:
        ValueError: The text is no such time, or names no zone.
    """
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a time")
    moment = datetime.fromisoformat(_python_310_form(text))
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment.timestamp()


def _python_310_form(text: str) -> str:
    """Returns the time as Python 3.10 reads it, without `Z` and with fractions of six digits."""
    text = text.strip()
    if text.endswith(("Z", "z")):
        text = text[:-1] + "+00:00"
    head, dot, rest = text.partition(".")
    if not dot:
        return text
    digits = len(rest) - len(rest.lstrip("0123456789"))
    return f"{head}.{rest[:digits][:6].ljust(6, '0')}{rest[digits:]}"
