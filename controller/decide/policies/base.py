"""The interface of a policy: one method, from a situation to a decision; and what forbids all of them to move."""

from __future__ import annotations

from typing import Protocol

from controller.decide.limits.caps import infeasible_reason
from controller.decide.model.situation import Situation
from controller.decide.policies.stability import busy_reason
from controller.domain import Decision, Verdict


class Policy(Protocol):
    """A way of deciding."""

    @property
    def name(self) -> str:
        """The name by which settings choose the policy."""
        ...

    def decide(self, situation: Situation) -> Decision:
        """What to do. Must not look at a clock, the network or a file."""
        ...


def nothing_to_decide(situation: Situation) -> Decision | None:
    """The decision where no fleet is allowed at all, or no move may begin now; None where there is a choice."""
    infeasible = infeasible_reason(situation.bounds, situation.usd_per_hour, situation.settings.head_usd_per_hour)
    if infeasible:
        return situation.decision(Verdict.REFUSE, infeasible)
    busy = busy_reason(situation)
    return situation.decision(Verdict.STAY, busy) if busy else None
