"""How much memory the training needs on a node, and which flavors have too little."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.reasons.flavors import MemoryTooSmall

MIB = 1024**2
RESERVED_MIB = 512
"""The default of what is kept free on a node for its operating system and all that is not the training."""


@dataclass(frozen=True)
class MemoryNeed:
    """The memory that one worker process needs, whatever its node is.

    Attributes:
        needed_bytes: The resident memory of the process at its peak.
        is_measured: Whether a node that trains has said so. Otherwise it is the trainer's estimate.
    """

    needed_bytes: int
    is_measured: bool


def memory_shortage(memory_bytes: int | None, need: MemoryNeed | None, reserved_mib: int) -> MemoryTooSmall | None:
    """Returns why a flavor can't hold the training; None where it can, or where one of the two sizes is unknown.

    Args:
        memory_bytes: The memory of the instance type, as EC2 states it.
        need: What the training needs.
        reserved_mib: What the operating system and everything but the training needs, in MiB.
    """
    if memory_bytes is None or need is None or memory_bytes - reserved_mib * MIB >= need.needed_bytes:
        return None
    return MemoryTooSmall(memory_bytes, need.needed_bytes, reserved_mib * MIB, need.is_measured)
