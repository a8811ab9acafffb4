"""Whether a decision says anything new to a person."""

from __future__ import annotations

from controller.domain import Decision, Fleet, Verdict


class DecisionNews:
    """Which decisions a person wants to read: those that differ from the last one told in more than numbers.

    The numbers of a reason change at every look, since the work that remains shrinks.
    """

    def __init__(self) -> None:
        self._told: tuple[Verdict, Fleet, str] | None = None

    def is_new(self, decision: Decision) -> bool:
        """Returns whether to report a decision, which then counts as reported."""
        now = (decision.verdict, decision.target, decision.reason.code)
        is_new, self._told = now != self._told, now
        return is_new
