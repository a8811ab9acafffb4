"""A run followed through its journal, whichever process steers it."""

from __future__ import annotations

from collections.abc import Mapping

from controller.record.journal import Journal, Stage
from controller.record.journal.summary import Summary
from controller.record.live.run_view import RunView
from controller.record.paid import paid_until
from controller.words.numbers import cell, duration, usd
from controller.words.reasons import reason_in_words
from controller.words.statuses import status_in_words
from controller.words.times import clock

EARLIER_DECISIONS = 50
"""A watcher begins with so many decisions of before."""


class Watcher:
    """Follows a journal. Each look takes up what was added since the last one."""

    def __init__(self, journal: Journal, usd_per_hour: Mapping[str, float]) -> None:
        self._journal = journal
        info = journal.info()
        self.view = RunView(info.run, info.environment, info.policy, info.started_at, info.initial, usd_per_hour)
        self._last_summary, self._last_event = 0, 0
        self._last_decision = max(0, journal.last_decision_number() - EARLIER_DECISIONS)

    def look(self, now: float) -> bool:
        """Brings the view up to date, and returns whether the run goes on."""
        journal, view = self._journal, self.view
        self._take_summaries(now)
        for position, decision in journal.decisions_after(self._last_decision):
            self._last_decision = position
            view.decide(decision)
        moves = {move.move_id: move for move in journal.moves()}
        for event in journal.events(after=self._last_event):
            self._last_event = event["id"]
            if event["move_id"] in moves:
                view.step(event["at"], moves[event["move_id"]], event["message"])
            else:
                view.note(event["at"], event["message"])
        view.status, view.ended_at, reason = journal.status(), journal.ended_at(), journal.status_reason()
        view.status_reason = None if reason is None else reason_in_words(reason)
        return journal.stage() is not Stage.ENDED

    def _take_summaries(self, now: float) -> None:
        last: Summary | None = None
        for position, summary in self._journal.summaries(after=self._last_summary):
            self._last_summary, last = position, summary
            self.view.see(summary, 0.0)
        if last is not None or self.view.now is not None:
            self.view.spent_usd = self._journal.spent_usd(paid_until(self._journal, now))


def line_of(view: RunView) -> str:
    """Returns the view in one line; the line is empty before anything was seen."""
    seen = view.trained or view.now
    if seen is None:
        return ""
    parts = [clock(seen.at), f"run {view.run}", status_in_words(view.status), str(seen.fleet)]
    if seen.step is not None:
        parts += [
            f"step {seen.step}" + (f" of {seen.total_steps}" if seen.total_steps else ""),
            f"loss {cell(seen.loss, 3)}",
            f"{cell(seen.tokens_per_s)} tokens/s",
            f"{duration(view.remaining_s)} to go",
        ]
    if view.move is not None:
        parts.append(f"move {view.move.move_id} {view.move.phase.value}")
    return ", ".join([*parts, f"{usd(view.spent_usd)} spent"])
