"""The brake: it makes a rank as slow as the hardware that the rank stands for.

`CENTAVO_EMULATED_SPEED` is a share of one core, above 0 and at most 1. After each forward and backward pass, the brake
sleeps until processor time / speed has passed. Where the variable is not set, nothing is slowed down. Allreduce and I/O
are never slowed down.

`CENTAVO_EMULATED_CORE_TOKENS_PER_S` is how many target tokens such a core trains in a second at most: on a faster core,
a pass counts as the processor time that it would take on that one.

Processor time counts, and not wall time, so that a rank which waits for a core of a shared machine does not look slower
than it is. The wait is hidden in the sleep as long as all speeds together are less than the cores.

A node may be emulated to have CPU credits as well (`trainer.node.credits`). Without credits, a pass takes longer still.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType

from trainer.node.credits import EmulatedCredits

VARIABLE = "CENTAVO_EMULATED_SPEED"
CORE_VARIABLE = "CENTAVO_EMULATED_CORE_TOKENS_PER_S"


def emulated_speed(environment: Mapping[str, str] | None = None) -> float | None:
    """Returns the speed that the environment asks for, or None. Raises ValueError if it is not a speed."""
    text = (os.environ if environment is None else environment).get(VARIABLE, "").strip()
    if not text:
        return None
    try:
        speed = float(text)
    except ValueError:
        raise ValueError(f"{VARIABLE} must be a number above 0 and at most 1, not {text!r}") from None
    if not 0.0 < speed <= 1.0:
        raise ValueError(f"{VARIABLE} must be above 0 and at most 1 (a share of one core), not {text}")
    return speed


def emulated_core_tokens_per_s(environment: Mapping[str, str] | None = None) -> float:
    """Returns how many target tokens the emulated core trains in a second at most; infinite where nothing says so.

    Raises ValueError if the environment names no such number.
    """
    text = (os.environ if environment is None else environment).get(CORE_VARIABLE, "").strip()
    try:
        tokens_per_s = float(text or math.inf)
    except ValueError:
        tokens_per_s = math.nan
    if not tokens_per_s > 0:
        raise ValueError(f"{CORE_VARIABLE} must be a number above 0, not {text!r}")
    return tokens_per_s


class Brake:
    """A context around one forward and backward pass. Afterwards, `compute_time_s` is its wall time with the brake.

    The block has to wait for its results: work that still runs in the background is not counted.
    """

    def __init__(
        self,
        speed: float | None,
        wall_clock: Callable[[], float] = time.perf_counter,
        processor_clock: Callable[[], float] = time.process_time,
        sleep: Callable[[float], None] = time.sleep,
        credits: EmulatedCredits | None = None,
        least_s: float = 0.0,
    ) -> None:
        """`least_s` is the processor time that the pass takes at least on the emulated core."""
        self._speed, self._credits, self._least_s = speed, credits, least_s
        self._wall_clock, self._processor_clock, self._sleep = wall_clock, processor_clock, sleep
        self.compute_time_s = 0.0

    def __enter__(self) -> Brake:
        self._wall_start, self._processor_start = self._wall_clock(), self._processor_clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (self._speed is not None or self._credits is not None) and error is None:
            processor_s = max(self._least_s, self._processor_clock() - self._processor_start)
            due_s = processor_s / (self._speed or 1.0)
            if self._credits is not None:
                due_s = self._credits.stretched_s(due_s)
            remaining_s = due_s - (self._wall_clock() - self._wall_start)
            if remaining_s > 0:
                self._sleep(remaining_s)
        self.compute_time_s = self._wall_clock() - self._wall_start
