"""How the global batch is divided among the ranks."""

from __future__ import annotations

from enum import Enum


class Batches(str, Enum):
    """How the trainer divides the global batch among its ranks."""

    BALANCED = "balanced"
    """In proportion to speed: a step takes B / S + t_comm(N)."""
    EQUAL = "equal"
    """The same for each rank: the slowest rank sets the pace."""
