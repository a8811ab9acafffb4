"""The calls over the edges: counted, timed, and perhaps failing, hanging or fatal."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from controller.domain.errors import AnsibleError, AwsError, CentavoError, TerraformError
from tests.unit.controller.world.errors import KilledError

HANG_LIMIT_S = 40.0
"""How long a call that hangs takes where the caller gives no limit of its own: the edge's own limit."""
SLOWER = 10.0


class Manner(Enum):
    """What goes wrong in a call, and when: before it has its effect, in the middle of it, or after it."""

    KILL_BEFORE = "kill-before"
    KILL_DURING = "kill-during"
    KILL_AFTER = "kill-after"
    FAIL_BEFORE = "fail-before"
    FAIL_DURING = "fail-during"
    FAIL_AFTER = "fail-after"
    HANG_BEFORE = "hang-before"
    HANG_AFTER = "hang-after"
    SLOW = "slow"
    NO_SPACE = "no-space"


@dataclass(frozen=True)
class Effect:
    """What a call does.

    Attributes:
        whole: All of it. Its result is the call's.
        part: What is left of it when it is interrupted in the middle.
        limit_s: After how long the edge gives a hanging call up.
        killed: What a kill in the middle leaves behind besides.
    """

    whole: Callable[[], Any]
    part: Callable[[], Any] = lambda: None
    limit_s: float = HANG_LIMIT_S
    killed: Callable[[], Any] = lambda: None

    def __call__(self) -> Any:
        return self.whole()


Plot = Callable[[int, str], "Manner | None"]
"""Says what goes wrong in the call of a number and a name. It may also change the world."""


@dataclass(kw_only=True)
class Calls(ABC):
    """The calls that controllers have made."""

    calls: list[str] = field(default_factory=list)
    callers: list[str] = field(default_factory=list)
    """The thread that made each call: each controller of a world with several has its own."""
    kill_at: tuple[int, str] | None = None
    """Die at this call, `before` or `after` it has had its effect."""
    failures: dict[str, list[CentavoError]] = field(default_factory=dict)
    """Errors to raise by the next calls of a name, one each."""
    plots: list[Plot] = field(default_factory=list)

    def call(self, name: str, effect: Callable[[], Any], seconds: float = 0.0) -> Any:
        """Makes one call over an edge, with what goes wrong in it. Returns what the effect returns."""
        number = len(self.calls)
        self.calls.append(name)
        self.callers.append(threading.current_thread().name)
        manner = self._manner(number, name)
        effect = effect if isinstance(effect, Effect) else Effect(effect)
        self.advance(max(1.0, seconds) * SLOWER if manner is Manner.SLOW else seconds)
        self._spoil_before(name, effect, manner)
        result = effect()
        self._spoil_after(name, effect, manner)
        return result

    @abstractmethod
    def advance(self, seconds: float) -> None:
        """Lets time pass."""

    def _manner(self, number: int, name: str) -> Manner | None:
        manners = [manner for plot in self.plots if (manner := plot(number, name)) is not None]
        if self.kill_at is not None and self.kill_at[0] == number:
            manners.append(Manner(f"kill-{self.kill_at[1]}"))
        return manners[0] if manners else None

    def put(self, name: str) -> bool:
        """Makes one call of the training's own, such as storing a checkpoint. Returns whether it succeeded."""
        number = len(self.calls)
        self.calls.append(name)
        self.callers.append("the training")
        manner = self._manner(number, name)
        if manner in (Manner.KILL_BEFORE, Manner.KILL_DURING, Manner.KILL_AFTER):
            raise KilledError
        return manner is None

    def _spoil_before(self, name: str, effect: Effect, manner: Manner | None) -> None:
        if manner is Manner.KILL_BEFORE:
            raise KilledError
        if manner is Manner.KILL_DURING:
            effect.part()
            effect.killed()
            raise KilledError
        if self.failures.get(name):
            raise self.failures[name].pop(0)
        if manner is Manner.FAIL_DURING:
            effect.part()
        if manner is Manner.HANG_BEFORE:
            self.advance(effect.limit_s)
        if manner in (Manner.FAIL_BEFORE, Manner.FAIL_DURING, Manner.HANG_BEFORE, Manner.NO_SPACE):
            raise error_of(name, manner)

    def _spoil_after(self, name: str, effect: Effect, manner: Manner | None) -> None:
        if manner is Manner.KILL_AFTER:
            raise KilledError
        if manner is Manner.HANG_AFTER:
            self.advance(effect.limit_s)
        if manner in (Manner.FAIL_AFTER, Manner.HANG_AFTER):
            raise error_of(name, manner)


def error_of(name: str, manner: Manner) -> Exception:
    """Returns the error that the edge of a call raises."""
    has_no_space = manner is Manner.NO_SPACE
    if name == "journal":
        return sqlite3.OperationalError("database or disk is full" if has_no_space else "disk I/O error")
    if name == "capacity":
        return OSError(errno.ENOSPC if has_no_space else errno.EIO, os.strerror(errno.ENOSPC))
    said = "no space left on device" if has_no_space else f"no answer ({manner.value})"
    if name in ("init", "plan", "apply"):
        return TerraformError(f"terraform {name} failed: {said}", "Try again.")
    if name in ("instances", "desired", "protection", "empty", "failures", "end", "reboot"):
        return AwsError(f"AWS did not {name}: {said}", "Try again.")
    return AnsibleError(f"The playbook {name} failed: {said}", "Try again.")
