"""Until when a run is paid for."""

from __future__ import annotations

from controller.record.journal import Journal


def paid_until(journal: Journal, now: float) -> float:
    """Returns the time until which the costs of a run are counted, seconds since the epoch.

    A run that goes on is paid for until now. One whose training has ended is paid for until the last look, which found
    everything given back.
    """
    ended_at, last_at = journal.ended_at(), journal.last_observed_at()
    return now if ended_at is None else max(ended_at, last_at or ended_at)
