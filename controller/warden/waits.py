"""How long each switch waits. The lease carries these settings, so nobody who reads it needs a file of settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

LEAST_S, MOST_S = 1.0, 7 * 86400.0
"""No wait is shorter or longer, whatever a lease says."""


LEAST_PAUSE_S, MOST_PAUSE_S, LOOKS_IN_A_LEASE = 5.0, 60.0, 10


class HeadEnd(str, Enum):
    """What the head does with itself when it has given everything else back."""

    STOP = "stop"
    TERMINATE = "terminate"
    KEEP = "keep"


@dataclass(frozen=True)
class Waits:
    """The waits of the switches, in seconds.

    Attributes:
        lease_s: How long the head waits where there is no lease and no step is made.
        ended_s: How long the head waits after the end of the training, or after the lease was given back.
        stalled_s: How long the head waits for a new step.
        worker_s: How long a worker waits that finds neither lease nor head. The head waits as long for a bucket that
            cannot be read.
        reaper_s: By how much a cluster has to outlive its lease before the reaper ends it.
        head: What the head does with itself at the end.
    """

    lease_s: float = 900.0
    ended_s: float = 1800.0
    stalled_s: float = 7200.0
    worker_s: float = 3600.0
    reaper_s: float = 7200.0
    head: HeadEnd = HeadEnd.STOP


def waits_of(document: object) -> Waits:
    """Returns the waits in a part of a lease. What is missing or makes no sense there has its default."""
    given: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    usual = Waits()
    seconds = {
        field.name: bounded(given.get(field.name), getattr(usual, field.name))
        for field in fields(Waits)
        if field.name != "head"
    }
    known = [one.value for one in HeadEnd]
    return Waits(**seconds, head=HeadEnd(given["head"]) if given.get("head") in known else usual.head)


def pause_between_looks_s(lasts_s: float) -> float:
    """Returns how long to wait between two looks at a lease: a tenth of the lease, within bounds."""
    return min(max(lasts_s / LOOKS_IN_A_LEASE, LEAST_PAUSE_S), MOST_PAUSE_S)


def bounded(value: object, otherwise: float) -> float:
    """Returns a number of seconds within the bounds. `otherwise` stands for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return otherwise
    try:
        seconds = float(value)
    except OverflowError:
        return MOST_S if value > 0 else LEAST_S
    return otherwise if math.isnan(seconds) else min(max(seconds, LEAST_S), MOST_S)
