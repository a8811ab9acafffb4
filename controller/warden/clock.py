"""Time: the clock that all waiting is measured by, which nobody sets, and the dates in AWS's answers."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime


def since_boot_s() -> float:
    """Returns the seconds since the boot. Time that the machine was suspended counts, where the system tells it."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def moment(header: str) -> datetime:
    """Returns the time in a header of HTTP. Raises ValueError."""
    try:
        found = parsedate_to_datetime(header)
    except TypeError as error:
        raise ValueError(f"{header!r} is no date") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)
