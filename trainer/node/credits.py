"""CPU credits that a node is emulated to have, as burstable instances of EC2 do.

`CENTAVO_EMULATED_CREDITS` names a file, which whoever emulates the node makes:

    {"vcpus": 2, "credits_per_hour": 24, "unlimited": false, "balance": 60, "surplus": 0, "at": 1763712000.0}

A credit is one vCPU at full speed for a minute. The node earns `credits_per_hour` all the time, and spends credits
while it computes. Without credits it computes at its baseline, `credits_per_hour / (60 * vcpus)` of its speed. In
unlimited mode it goes on at full speed and spends surplus credits. The rank keeps the account in the file, so that a
rank that follows goes on with it, and others can read the balance.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from trainer.files.atomic import write_atomically

VARIABLE = "CENTAVO_EMULATED_CREDITS"
WRITE_EVERY_S = 1.0
MOST_HOURS = 24.0
"""A node keeps the credits of so many hours, and no more."""

log = logging.getLogger(__name__)


class EmulatedCredits:
    """The account of one node."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        """Reads the account. Raises ValueError where the file holds none."""
        self._path, self._clock = path, clock
        try:
            account = json.loads(path.read_text(encoding="utf-8"))
            self._vcpus, self._per_hour = float(account["vcpus"]), float(account["credits_per_hour"])
            self._unlimited = bool(account["unlimited"])
            self.balance, self.surplus = float(account["balance"]), float(account["surplus"])
            self._at = float(account["at"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{VARIABLE} must name a file with an account of CPU credits; {path}: {error}") from None
        self._written_at = self._at

    @property
    def _net_per_s(self) -> float:
        """The credits that full speed costs in a second, beyond those that are earned meanwhile."""
        return self._vcpus / 60 - self._per_hour / 3600

    def stretched_s(self, full_s: float) -> float:
        """Returns how long a computation takes that takes `full_s` seconds at full speed, and spends its credits.

        It is to be called when the computation begins or ends; the time since the last call is taken as idle, as far as
        the computation did not fill it.
        """
        self._earn(self._clock() - self._at - full_s)
        net_per_s = self._net_per_s
        fast_s = full_s if net_per_s <= 0 else min(full_s, self.balance / net_per_s)
        self.balance -= fast_s * net_per_s
        slow_s = full_s - fast_s
        if self._unlimited:
            self.surplus += slow_s * net_per_s
            took_s = full_s
        else:
            took_s = fast_s + slow_s * self._vcpus * 60 / self._per_hour
        self._at = self._clock() + max(0.0, took_s - full_s)
        self._write()
        return took_s

    def _earn(self, idle_s: float) -> None:
        """Adds what is earned in a time without work. Surplus credits are paid back first."""
        earned = max(0.0, idle_s) * self._per_hour / 3600
        paid = min(earned, self.surplus)
        self.surplus -= paid
        self.balance = min(self.balance + earned - paid, MOST_HOURS * self._per_hour)

    def _write(self) -> None:
        if self._at - self._written_at < WRITE_EVERY_S:
            return
        self._written_at = self._at
        account = {
            "vcpus": self._vcpus,
            "credits_per_hour": self._per_hour,
            "unlimited": self._unlimited,
            "balance": self.balance,
            "surplus": self.surplus,
            "at": self._at,
        }
        try:
            write_atomically(self._path, json.dumps(account) + "\n", readable_by_all=True)
        except OSError as error:
            log.error("%s cannot be written: %s; the training goes on", self._path, error)


def emulated_credits(environment: Mapping[str, str] | None = None) -> EmulatedCredits | None:
    """Returns the account that the environment names, or None. Raises ValueError if it names no account."""
    text = (os.environ if environment is None else environment).get(VARIABLE, "").strip()
    return EmulatedCredits(Path(text)) if text else None
