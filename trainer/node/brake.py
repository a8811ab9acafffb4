"""Makes a rank as slow as the hardware it stands for: it stretches computing to processor time / speed by sleeping.

`CENTAVO_EMULATED_SPEED` is a share of one core, above 0 and at most 1. Unset, nothing is braked. Only computing is
slowed: not allreduce, not I/O. Processor time, not wall time, is stretched, so that ranks which wait for a core of a
shared machine do not look slower than they are; the wait disappears in the sleep while the speeds leave the cores room.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType

VARIABLE = "CENTAVO_EMULATED_SPEED"


def emulated_speed(environment: Mapping[str, str] | None = None) -> float | None:
    """The speed that the environment asks for, None when it asks for none. Raises ValueError when it is no speed."""
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


class Brake:
    """Context around one forward and backward; afterwards `compute_time_s` is its wall time, the braking included.

    The block must have waited for its results: work that still runs in the background is not counted.
    """

    def __init__(
        self,
        speed: float | None,
        wall_clock: Callable[[], float] = time.perf_counter,
        processor_clock: Callable[[], float] = time.process_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._speed = speed
        self._wall_clock, self._processor_clock, self._sleep = wall_clock, processor_clock, sleep
        self.compute_time_s = 0.0

    def __enter__(self) -> Brake:
        self._wall_start, self._processor_start = self._wall_clock(), self._processor_clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._speed is not None and error is None:
            due_s = (self._processor_clock() - self._processor_start) / self._speed
            remaining_s = due_s - (self._wall_clock() - self._wall_start)
            if remaining_s > 0:
                self._sleep(remaining_s)
        self.compute_time_s = self._wall_clock() - self._wall_start
