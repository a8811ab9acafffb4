"""What the processor of this machine can do."""

from __future__ import annotations

import platform
from pathlib import Path


def description() -> str:
    """Returns the line of /proc/cpuinfo with the processor's abilities, or its name where there is no such line."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def has(flag: str) -> bool:
    """Returns whether Linux lists `flag` among the processor's abilities."""
    return flag in description().split()
