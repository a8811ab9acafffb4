"""The interface of a policy: one method, from a situation to a decision."""

from __future__ import annotations

from typing import Protocol

from controller.decide.situation import Situation
from controller.domain import Decision


class Policy(Protocol):
    """A way of deciding."""

    name: str

    def decide(self, situation: Situation) -> Decision:
        """What to do. Must not look at a clock, the network or a file."""
        ...
