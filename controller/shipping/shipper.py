"""Several logs, sent again and again to one group, through times in which CloudWatch takes nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from .log import Kept, Log, Source
from .sending import NotTakenError, Sender
from .state import read_state, write_state

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
MOST_CALLS = 20
"""How many calls in a row one log gets. The others are not to wait for one that has much to send."""


class Shipper:
    """The logs of one place.

    Args:
        sources: The logs.
        sender: Takes the lines.
        state: The file that says how far each log was sent.
        now: Returns the time of day, in seconds since the epoch.
        tell: Takes what a person may want to know about the sending itself.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        sender: Sender,
        state: Path,
        now: Callable[[], float],
        tell: Callable[[str], None],
    ) -> None:
        self._sender, self._state, self._now, self._tell = sender, state, now, tell
        kept = read_state(state)
        self._logs = [Log(source, kept.get(source.name, Kept())) for source in sources]
        self._pause_s, self._quiet_until = 0.0, 0.0
        self._told: dict[str, str] = {}

    def go(self) -> bool:
        """Looks at every log, and sends what is new. Returns whether everything that is there was sent."""
        now = self._now()
        changed = [log for log in self._logs if self._on_disk(log.source.name, partial(log.look, now))]
        is_quiet = now < self._quiet_until < now + LONGEST_PAUSE_S  # later still: somebody has set the clock back
        if changed:
            self._keep()
        if is_quiet:
            return False
        try:
            unfinished = [log for log in self._logs if self._send(log)]
        except NotTakenError as error:
            self._rest(now, str(error))
            return False
        if self._pause_s:
            self._tell("CloudWatch takes logs again")
        self._pause_s = 0.0
        return not unfinished

    def _send(self, log: Log) -> bool:
        """Sends what is new in a log. Returns whether there may be more."""
        for _ in range(MOST_CALLS):
            if not self._on_disk(log.source.name, partial(log.send, self._sender)):
                return False
            self._keep()
        return True

    def _rest(self, now: float, why: str) -> None:
        """Sends nothing for a while, and for longer after each failure. Nodes don't come back all at once."""
        if not self._pause_s:
            self._tell(f"CloudWatch does not take logs, so they stay in their files: {why}")
        self._pause_s = min(LONGEST_PAUSE_S, 2 * self._pause_s or FIRST_PAUSE_S)
        self._quiet_until = now + self._pause_s * random.uniform(0.5, 1.0)
        self._keep()

    def _keep(self) -> None:
        logs = {log.source.name: log.kept for log in self._logs}
        self._on_disk("state", partial(write_state, self._state, logs))

    def _on_disk(self, what: str, do: Callable[[], bool | None]) -> bool | None:
        """Returns what `do` returns; None where the disk lets it down, which is told once."""
        try:
            done = do()
            self._told.pop(what, None)
            return done
        except OSError as error:
            if self._told.get(what) != str(error):
                self._told[what] = str(error)
                self._tell(str(error))
            return None
