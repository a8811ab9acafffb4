"""The interface of a policy: one method, from a situation to a decision."""

from __future__ import annotations

from typing import Protocol

from controller.decide.model.situation import Situation
from controller.domain import Decision


class Policy(Protocol):
    """A way of deciding."""

    @property
    def name(self) -> str:
        """The name by which settings choose the policy."""
        ...

    def decide(self, situation: Situation) -> Decision:
        """Returns what to do. It must not look at a clock, the network or a file."""
        ...
