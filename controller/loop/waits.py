"""Moves that have failed wait, for longer each time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from controller.act.backoff import backoff_s, failures_to_grow, longest_s, retry_at
from controller.domain import Decision, Fleet, Market, Verdict
from controller.domain.reasons import Reason
from controller.domain.reasons.moving import WaitsAfterFailure
from controller.edges.clock import Clock
from controller.record.journal import Journal


class Waits:
    """How long moves and flavors that have failed are left alone, in one run.

    Fleets wait only after moves that have failed since this controller began; flavors wait over a restart, too.

    Args:
        journal: The run's journal.
        clock: The clock.
        first_wait_s: How long what has failed waits at first.
        market: Returns how a flavor is bought.
    """

    def __init__(self, journal: Journal, clock: Clock, first_wait_s: float, market: Callable[[str], Market]) -> None:
        self._journal, self._clock, self._first_wait_s, self._market = journal, clock, first_wait_s, market
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
        added = target.beyond(current)
        waits = [unavailable[flavor][0] for flavor in added if flavor in unavailable]
        most_s = longest_s(map(self._market, added))
        until = max([retry_at(target, since_start, self._first_wait_s, most_s) or now, *waits])
        return WaitsAfterFailure(target, until) if until > now else None

    def remember_unavailable(self, flavors: Collection[str], reason: Reason) -> None:
        """Keeps that these flavors could not be had, and for how long they are left alone."""
        now, moves = self._clock.now(), self._journal.moves()
        for flavor in flavors:
            failures = failures_to_grow(flavor, moves) + 1
            until = now + backoff_s(self._first_wait_s, failures, longest_s([self._market(flavor)]))
            self._journal.set_unavailable(flavor, until, reason)
