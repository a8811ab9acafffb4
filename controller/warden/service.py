"""The warden of one node: it looks, decides, acts, and looks again, until the node ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from .admitting.keys import Door
from .bucket import Bucket
from .clock import since_boot_s
from .look import Look, Standing
from .memory import Memory, Signs
from .verdict import Situation, Verdict
from .waits import MOST_PAUSE_S, pause_between_looks_s


class Duty(Protocol):
    """What a warden looks for and does: the head's or a worker's."""

    def signs(self) -> Signs:
        """Returns what the node itself shows."""

    def verdict(self, now: Situation) -> Verdict:
        """Returns whether to act."""

    def act(self, look: Look, now: Situation, verdict: Verdict) -> bool:
        """Acts. Returns whether all is done."""

    def watch(self, look: Look, now: Situation) -> None:
        """Does what there is to do while the switch does not fire."""


class Warden:
    """Looks at the lease again and again."""

    def __init__(
        self,
        bucket: Bucket,
        duty: Duty,
        tell: Callable[[str], None],
        clock: Callable[[], float] = since_boot_s,
        door: Door | None = None,
    ) -> None:
        self._bucket, self._duty, self._tell, self._clock = bucket, duty, tell, clock
        self._door = door
        self._memory = Memory.begun(clock())
        self._told: tuple[object, ...] = ()
        self._done_for: int | None = None

    def run(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Looks and acts for ever. What has been waited for is not forgotten because one pass fails."""
        while True:
            try:
                pause = self.pass_once()
            except Exception as error:
                pause = MOST_PAUSE_S
                self._tell(f"this pass has failed, and the next one follows: {type(error).__name__}: {error}")
            sleep(pause)

    def pass_once(self) -> float:
        """Looks once, and acts where the verdict says so. Returns how many seconds to wait for the next look."""
        look, signs = self._bucket.look(), self._duty.signs()
        self._memory = self._memory.after(look, signs, self._clock())
        now = self._memory.situation(self._clock())
        if self._door is not None:
            self._door.follow(look)
        verdict = self._duty.verdict(now)
        self._say(look, now, verdict)
        if verdict.fires and self._done_for != _generation(now):
            if self._duty.act(look, now, verdict):
                self._done_for = _generation(now)
                self._tell("done; nothing more is to do for this holder of the lease")
        elif not verdict.fires:
            self._done_for = None
            self._duty.watch(look, now)
        return pause_s(now)

    def _say(self, look: Look, now: Situation, verdict: Verdict) -> None:
        """Tells what is seen, where it differs from what was told last."""
        news = (look.standing, verdict.fires, verdict.why, _generation(now), look.problem)
        if news == self._told:
            return
        self._told = news
        self._tell(f"{_seen(look)}; {'fires: ' if verdict.fires else 'watching: '}{verdict}")


def pause_s(now: Situation) -> float:
    """Returns how long to wait for the next look."""
    return pause_between_looks_s(now.waits.lease_s if now.lease is None else now.lease.lasts_s)


def _generation(now: Situation) -> int:
    return -1 if now.lease is None else now.lease.generation


def _seen(look: Look) -> str:
    if look.standing is Standing.UNREAD:
        return look.problem
    if look.lease is None:
        return "there is no lease"
    state = "was given back by" if look.lease.released else "is held by"
    return f"the lease {state} {look.lease.holder} ({look.lease.stage}, {look.age_s:.0f} s old)"
