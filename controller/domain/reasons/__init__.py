"""Reasons as types: every decision, refusal and rollback carries one.

A module holds the reasons of one subject. `REASONS` has them all by code.
"""

from collections.abc import Mapping
from types import ModuleType

from controller.domain.reasons import (
    base,
    deciding,
    ending,
    flavors,
    health,
    limits,
    moving,
    nodes,
    plans,
    spot,
    writing,
)
from controller.domain.reasons.base import Reason, Said


def _kinds(module: ModuleType) -> list[type[Reason]]:
    """Returns the reasons with a code that a module defines."""
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Reason)]
    return [kind for kind in kinds if kind.__module__ == module.__name__ and "code" in vars(kind)]


_FAMILIES = (base, deciding, ending, flavors, health, limits, moving, nodes, plans, spot, writing)
REASONS: Mapping[str, type[Reason]] = {kind.code: kind for module in _FAMILIES for kind in _kinds(module)}

__all__ = ["REASONS", "Reason", "Said"]
