"""The clock that all waiting is measured by. Nobody sets it."""

from __future__ import annotations

import time


def since_boot_s() -> float:
    """Returns the seconds since the boot. Time that the machine was suspended counts, where the system tells it."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
