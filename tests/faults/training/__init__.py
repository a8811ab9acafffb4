"""Layer C: faults in real trainings of three ranks."""

from __future__ import annotations

from collections.abc import Iterable

from tests.faults.fault import Fault, Result

NAME = "training"
PROCESSES = 1


def singles() -> Iterable[Fault]:
    """Returns every single fault of the layer."""
    return ()


def pair(seed: int) -> Fault | None:
    """Returns None: the layer draws no faults."""
    return None


def run(fault: Fault) -> Result:
    """Runs with a fault, and checks the invariants."""
    raise LookupError(f"the layer {NAME} has no fault {fault.name}")


def smaller(fault: Fault) -> Iterable[Fault]:
    """Returns nothing: a single fault can't be shrunk."""
    return ()
