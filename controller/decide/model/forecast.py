"""What the rest of the work takes and costs on one fleet."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain import Fleet


@dataclass(frozen=True)
class Forecast:
    """Time and money for the rest of the work if the fleet becomes `target` now, the switch included."""

    target: Fleet
    remaining_s: float
    remaining_usd: float
    switching_usd: float
    bad_nodes: tuple[str, ...] = ()
    """The bad nodes that the target gets rid of, where that is its purpose."""


@dataclass(frozen=True)
class Overrun:
    """Time and money that a fleet needs beyond what deadline and budget leave; 0 where it keeps them."""

    seconds: float = 0.0
    usd: float = 0.0
