"""How fast a run's training went, as its journal tells: to compare a run that was watched with a detached one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from controller.observe.progress import read_progress
from controller.record.journal import Journal


@dataclass(frozen=True)
class Pace:
    """The pace of one run.

    Attributes:
        first_step_s: Seconds from the run's start until a look saw a step.
        steps: Steps between the first look and the last one that saw another step.
        seconds: The seconds between these looks, moves included.
    """

    first_step_s: float
    steps: int
    seconds: float

    def __str__(self) -> str:
        per_step = f"{self.seconds / self.steps:.3f} s a step over {self.steps} steps" if self.steps else "no steps"
        return f"{per_step}, the first one seen after {self.first_step_s:.0f} s"


def pace_of(run: Path) -> Pace | None:
    """Returns the pace of the run whose journal lies in a folder; None where no look saw a step."""
    journal = Journal(run)
    started_at = journal.info().started_at
    seen: dict[int, float] = {}
    for observation in journal.observations():
        progress = read_progress(observation, started_at)
        if progress is not None and progress.step > 0:
            seen.setdefault(progress.step, progress.at)
    journal.close()
    if not seen:
        return None
    first, last = min(seen), max(seen)
    return Pace(seen[first] - started_at, last - first, seen[last] - seen[first])
