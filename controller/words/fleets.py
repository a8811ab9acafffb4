"""Fleets as people read them, from all that there is to say to a few letters."""

from __future__ import annotations

from collections.abc import Iterable

from controller.domain import Fleet

FEW_FLAVORS = 2
"""A fleet of so many flavors is always written out."""


def brief(fleet: Fleet) -> str:
    """Returns a fleet in words. A fleet with as many nodes of each of several flavors says that number once."""
    counts = set(fleet.present.values())
    if len(fleet.present) > FEW_FLAVORS and len(counts) == 1:
        return f"{counts.pop()} each of {', '.join(fleet.present)}"
    return str(fleet)


def short(fleet: Fleet) -> str:
    """Returns a fleet in few letters. Of more than two flavors, only their number is said."""
    present = fleet.present
    return str(fleet) if len(present) <= FEW_FLAVORS else f"{fleet.size} nodes of {len(present)} flavors"


def with_short_fleets(text: str, fleets: Iterable[Fleet]) -> str:
    """Returns the text with these fleets in few letters, so that the rest of it has room in a line."""
    for fleet in fleets:
        text = text.replace(str(fleet), short(fleet)) if fleet.present else text
    return text
