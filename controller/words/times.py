"""Times of day as people read them."""

from __future__ import annotations

from datetime import datetime, timezone


def clock(at: float) -> str:
    """Returns the local time of day."""
    return f"{datetime.fromtimestamp(at):%H:%M:%S}"


def utc_clock(at: float) -> str:
    """Returns the time of day in UTC."""
    return f"{datetime.fromtimestamp(at, timezone.utc):%H:%M:%S}"


def moment(time: str) -> str:
    """Returns an ISO 8601 time in UTC as people read it: `2026-11-21 06:00:00 UTC`."""
    return f"{time[:10]} {time[11:19]} UTC"
