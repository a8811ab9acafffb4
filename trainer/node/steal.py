"""Steal time: the share of processor time that the machine beneath a virtual one did not give to it.

A burstable EC2 instance without CPU credits shows it: what it wants beyond its baseline is stolen.
"""

from __future__ import annotations

from pathlib import Path

STAT = Path("/proc/stat")
COUNTED, STEAL = 8, 7
"""The first line has user, nice, system, idle, iowait, irq, softirq and steal, in clock ticks (proc(5)). What follows,
the time of guests, is part of user and nice."""


class StealMeter:
    """Measures steal time from call to call."""

    def __init__(self, path: Path = STAT) -> None:
        self._path = path
        self._last = self._ticks()

    def share(self) -> float | None:
        """Returns the share of the time since the last call that was stolen, 0 to 1; None where nothing says so."""
        last, now = self._last, self._ticks()
        self._last = now
        if last is None or now is None or sum(now) <= sum(last):
            return None
        return min(1.0, max(0.0, (now[STEAL] - last[STEAL]) / (sum(now) - sum(last))))

    def _ticks(self) -> list[int] | None:
        try:
            name, *figures = self._path.read_text(encoding="ascii").split("\n", 1)[0].split()
            ticks = [int(figure) for figure in figures[:COUNTED]]
        except (OSError, ValueError):
            return None
        return ticks if name == "cpu" and len(ticks) == COUNTED else None
