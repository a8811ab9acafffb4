"""Moves that have failed wait, for longer each time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from controller.act.backoff import backoff_s, failures_to_grow, retry_at
from controller.domain import Decision, Fleet, Verdict
from controller.domain.reasons import Reason
from controller.domain.reasons.moving import WaitsAfterFailure
from controller.edges.clock import Clock
from controller.record.journal import Journal


class Waits:
    """How long moves and flavors that have failed are left alone, in one run.

    Fleets wait only after moves that have failed since this controller began; flavors wait over a restart, too.
    """

    def __init__(self, journal: Journal, clock: Clock, first_wait_s: float) -> None:
        self._journal, self._clock, self._first_wait_s = journal, clock, first_wait_s
        self._began_at = clock.now()

    def hold_back(self, decision: Decision) -> Decision:
        """Returns the decision, or a refusal of its move where that has to wait."""
        if decision.verdict is not Verdict.MOVE:
            return decision
        reason = self.reason(decision.current, decision.target)
        if reason is None:
            return decision
        return replace(decision, verdict=Verdict.REFUSE, target=decision.current, reason=reason, is_probe=False)

    def reason(self, current: Fleet, target: Fleet) -> WaitsAfterFailure | None:
        """Returns why a move has to wait; None where it may begin."""
        now = self._clock.now()
        since_start = [move for move in self._journal.moves() if move.at >= self._began_at]
        unavailable = self._journal.unavailable(now)
        waits = [unavailable[flavor][0] for flavor in target.beyond(current) if flavor in unavailable]
        until = max([retry_at(target, since_start, self._first_wait_s) or now, *waits])
        return WaitsAfterFailure(target, until) if until > now else None

    def remember_unavailable(self, flavors: Collection[str], reason: Reason) -> None:
        """Keeps that these flavors could not be had, and for how long they are left alone."""
        now, moves = self._clock.now(), self._journal.moves()
        for flavor in flavors:
            failures = failures_to_grow(flavor, moves) + 1
            until = now + backoff_s(self._first_wait_s, failures)
            self._journal.set_unavailable(flavor, until, reason)
