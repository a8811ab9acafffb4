"""When a group may try again what has failed."""

from __future__ import annotations

import time
from typing import Literal

Process = Literal["Launch", "Terminate"]


class Retries:
    """The pauses of groups after failures. Each process of each group has its own pause of `retry_s` seconds."""

    def __init__(self, retry_s: float) -> None:
        self.retry_s = retry_s
        self._not_before_s: dict[tuple[str, Process], float] = {}

    def may_try(self, group_name: str, process: Process) -> bool:
        """Returns whether a group's pause is over, or never began."""
        return time.monotonic() >= self._not_before_s.get((group_name, process), 0.0)

    def pause(self, group_name: str, process: Process) -> None:
        """Begins a pause."""
        self._not_before_s[group_name, process] = time.monotonic() + self.retry_s

    def end_pauses_of(self, group_name: str) -> None:
        """Ends all pauses of a group, so that it tries again at the next tick."""
        self._not_before_s = {key: when for key, when in self._not_before_s.items() if key[0] != group_name}
