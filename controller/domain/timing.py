"""The parts of a move whose durations are measured."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class MovePart(str, Enum):
    """A part of a move that takes time."""

    TERRAFORM = "terraform"
    """Terraform's plan and apply."""
    BOOT = "boot"
    """From the end of the apply until all new nodes answer."""
    CONFIGURE = "configure"
    """The playbook that makes warm workers of them."""
    PAUSE = "pause"
    """How long the training stands still for one change of its members."""
    DRAIN = "drain"
    """From letting nodes go until they have ended."""


Durations = Mapping[MovePart, tuple[float, ...]]
"""Seconds that the parts of moves took, oldest first."""
