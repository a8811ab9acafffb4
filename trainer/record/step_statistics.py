"""How long this rank's last steps took: the figures by which flavors are compared."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Iteration:
    """One step as this rank saw it.

    Attributes:
        iteration_time_s: Wall time of the whole step, allreduce included.
        compute_time_s: Time of this rank's own forward and backward pass.
        samples: Sentence pairs of this rank.
        tokens: Target tokens of this rank.
    """

    iteration_time_s: float
    compute_time_s: float
    samples: int
    tokens: int


@dataclass(frozen=True)
class Medians:
    """Medians over the last `window` steps; None while there is no step."""

    window: int = 0
    iteration_time_s: float | None = None
    compute_time_s: float | None = None
    samples: float | None = None
    tokens: float | None = None


class StepStatistics:
    """The last `window` steps of the present world, without the first `warmup_steps`.

    The first steps of a world are slow for reasons that say nothing about the flavor, and the time of a step depends on
    the world. So each world begins with an empty window.
    """

    def __init__(self, window: int, warmup_steps: int) -> None:
        self._iterations: deque[Iteration] = deque(maxlen=window)
        self._warmup_steps, self._left_out = warmup_steps, 0

    def begin(self) -> None:
        """Empties the window: a world begins."""
        self._iterations.clear()
        self._left_out = 0

    def record(self, iteration: Iteration) -> None:
        """Takes a finished step into the window, unless it is one of the first of this world."""
        if self._left_out < self._warmup_steps:
            self._left_out += 1
        else:
            self._iterations.append(iteration)

    def medians(self) -> Medians:
        """Returns the medians of the window."""
        if not self._iterations:
            return Medians()
        return Medians(
            len(self._iterations),
            *(self._median(name) for name in ("iteration_time_s", "compute_time_s", "samples", "tokens")),
        )

    def _median(self, name: str) -> float:
        return round(float(median(getattr(iteration, name) for iteration in self._iterations)), 6)
