"""What a fault and its result are, for all layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Fault:
    """A fault, or several in one run.

    Attributes:
        name: What it is repeated by: `make faults FAULT=NAME`.
        kind: The row of the table that it is counted in.
        seed: The seed that it was drawn with; None for one that was not drawn.
    """

    name: str
    kind: str
    seed: int | None = None

    @property
    def command(self) -> str:
        """What shows the fault again."""
        return f"make faults FAULT='{self.name}'" if self.seed is None else f"make faults SEED={self.seed}"


@dataclass(frozen=True)
class Result:
    """What became of a run with a fault.

    Attributes:
        has_happened: Whether the run got as far as the fault.
        violations: The invariants that did not hold, each with what was seen.
        heal_passes: How many passes of the controller it took until the fault was over and every paid node trained
            again, or none was paid any more; None where passes are not counted.
        told: What was told during the run, for a person who repeats the fault.
    """

    fault: Fault
    has_happened: bool
    violations: tuple[str, ...] = ()
    heal_passes: int | None = None
    told: tuple[str, ...] = ()


class Layer(Protocol):
    """One layer of the campaign.

    Attributes:
        NAME: Its name in `faults.json`.
        PROCESSES: How many processes its faults may run in.
    """

    NAME: str
    PROCESSES: int

    def singles(self) -> Iterable[Fault]:
        """Returns every single fault of the layer."""

    def lanes(self, faults: Sequence[Fault]) -> Iterable[Sequence[Fault]]:
        """Returns the faults in groups. Those of a group follow one another; groups may run side by side."""

    def pair(self, seed: int) -> Fault | None:
        """Returns the faults of one run that this seed draws; None where the layer draws none."""

    def run(self, fault: Fault) -> Result:
        """Runs with a fault, and checks the invariants."""

    def smaller(self, fault: Fault) -> Iterable[Fault]:
        """Returns the faults that a violation may be shrunk to."""
