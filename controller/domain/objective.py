"""What a fleet is chosen for."""

from __future__ import annotations

from enum import Enum


class Objective(str, Enum):
    """What the fleet is chosen for. Deadline and budget come from the limits, and bound either objective."""

    COST = "cost"
    TIME = "time"
