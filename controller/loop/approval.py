"""Who says when a move may begin."""

from __future__ import annotations

from collections.abc import Callable

from controller.domain import Decision, Fleet, Verdict

Approval = Callable[[Decision], "Fleet | None"]
"""Returns the fleet that may be moved to now, given the latest decision; None: stay."""


def at_once(decision: Decision) -> Fleet | None:
    """Approves of every move, for a controller that may move by itself."""
    return decision.target if decision.verdict is Verdict.MOVE else None
