"""Layer C: faults in real trainings of three ranks, with the real launcher and real warm workers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.faults.fault import Fault, Result

NAME = "training"
PROCESSES = 1


def singles() -> Iterable[Fault]:
    """Returns every single fault of the layer."""
    from tests.faults.training.plots import PLOTS

    return tuple(Fault(name, f"training: {plot.kind}") for name, plot in PLOTS.items())


def lanes(faults: Sequence[Fault]) -> Iterable[Sequence[Fault]]:
    """Returns the faults in two lanes: a training that waits for its fault to heal leaves a processor idle."""
    return (faults[::2], faults[1::2])


def pair(seed: int) -> Fault | None:
    """Returns None: the layer draws no faults."""
    return None


def run(fault: Fault) -> Result:
    """Runs with a fault, and checks the invariants."""
    from tests.faults.training.invariants import violations_of
    from tests.faults.training.plots import PLOTS
    from tests.faults.training.trial import Trial

    plot = PLOTS[fault.name]
    with tempfile.TemporaryDirectory(prefix="centavo-fault-") as directory, Trial(Path(directory), plot) as trial:
        trial.run()
        found = violations_of(trial)
    return Result(fault, trial.has_happened, found, told=tuple(trial.told))


def smaller(fault: Fault) -> Iterable[Fault]:
    """Returns nothing: a single fault can't be shrunk."""
    return ()
