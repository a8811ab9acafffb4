"""The faults that a person or a test has injected. Each lasts until it is cleared, or for a time."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

HostKind = Literal["hang-ssh", "freeze", "fill-disk", "partition"]
ApiKind = Literal["throttle", "s3-down", "slow-api", "no-capacity"]
Kind = HostKind | ApiKind

HOST_KINDS: tuple[HostKind, ...] = ("hang-ssh", "freeze", "fill-disk", "partition")
ENDED_BY_REBOOT: tuple[HostKind, ...] = ("hang-ssh", "freeze")


@dataclass
class Fault:
    """A fault that is in force.

    Attributes:
        number: what it is called when it is cleared.
        kind: what goes wrong.
        target: where: an instance, a flavor or a service; empty for all.
        ends_at_s: when it ends by itself, on the monotonic clock; None if it does not.
        other: for a partition, the only instance that the target is cut off from; None means from all.
        delay_s: for a slow API, how long each answer takes.
        times_left: for throttling, how many requests are still refused; None means all.
        boot: the boot of the instance during which it was injected.
    """

    number: int
    kind: Kind
    target: str = ""
    ends_at_s: float | None = None
    other: str | None = None
    delay_s: float = 0.0
    times_left: int | None = None
    boot: int | None = field(default=None, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Returns the fault as the control API shows it, without what does not apply."""
        left_s = None if self.ends_at_s is None else round(max(0.0, self.ends_at_s - time.monotonic()), 1)
        shown = {
            "number": self.number,
            "kind": self.kind,
            "target": self.target or None,
            "from": self.other,
            "seconds": self.delay_s or None,
            "times_left": self.times_left,
            "ends_in_s": left_s,
        }
        return {name: value for name, value in shown.items() if value is not None}


class Injected:
    """All faults in force. It may be used from any thread."""

    def __init__(self) -> None:
        self._faults: dict[int, Fault] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def inject(self, kind: Kind, target: str = "", for_s: float | None = None, **details: Any) -> Fault:
        """Brings a fault into force. It takes the place of one of the same kind at the same target."""
        ends_at_s = None if for_s is None else time.monotonic() + for_s
        with self._lock:
            fault = Fault(next(self._numbers), kind, target, ends_at_s, **details)
            self._keep(lambda old: (old.kind, old.target, old.other) != (kind, target, fault.other))
            self._faults[fault.number] = fault
        return fault

    def clear(self, unwanted: Callable[[Fault], bool]) -> list[Fault]:
        """Ends the faults that a condition holds for, and returns them."""
        with self._lock:
            ended = [fault for fault in self._faults.values() if unwanted(fault)]
            self._keep(lambda fault: fault not in ended)
        return ended

    def all(self) -> list[Fault]:
        """Returns the faults in force."""
        now_s = time.monotonic()
        self.clear(lambda fault: fault.ends_at_s is not None and fault.ends_at_s <= now_s)
        with self._lock:
            return list(self._faults.values())

    def find(self, kind: Kind, target: str = "") -> Fault | None:
        """Returns a fault of a kind at a target, or at all targets; None if there is none."""
        return next((fault for fault in self.all() if fault.kind == kind and fault.target in ("", target)), None)

    def takes_throttling(self, service: str) -> bool:
        """Returns whether a request to a service is refused now, and counts it."""
        fault = self.find("throttle", service)
        if fault is None:
            return False
        with self._lock:
            if fault.times_left is not None:
                if fault.times_left <= 0:
                    return False
                fault.times_left -= 1
                if fault.times_left == 0:
                    self._faults.pop(fault.number, None)
        return True

    def _keep(self, wanted: Callable[[Fault], bool]) -> None:
        self._faults = {number: fault for number, fault in self._faults.items() if wanted(fault)}
