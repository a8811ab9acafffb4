"""What came of a rehearsal: its steps with their times, as a table for people and as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

CANNOT_BE_REHEARSED = (
    "AWS's own API, with its limits, delays and errors that moto does not know",
    "the real AMI and its kernel, and real instance types with their speeds, disks and burst credits",
    "real network speeds, and a cluster placement group",
    "real prices, capacity and quotas of an account",
    "Systems Manager: the way to a head without a public address is tested up to the command that it runs",
)


@dataclass(frozen=True)
class Step:
    """A step that was made: what it showed, how long it took in seconds, and why it failed, if it did."""

    name: str
    seconds: float
    shown: str
    failure: str | None = None


@dataclass(frozen=True)
class Outcome:
    """All steps that were made."""

    steps: tuple[Step, ...]
    seconds: float

    @property
    def is_good(self) -> bool:
        """Whether no step has failed."""
        return bool(self.steps) and all(step.failure is None for step in self.steps)

    def write(self, file: Path) -> None:
        """Writes the outcome as JSON."""
        file.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "good": self.is_good,
            "seconds": round(self.seconds, 1),
            "steps": [asdict(step) for step in self.steps],
            "not_rehearsed": CANNOT_BE_REHEARSED,
        }
        file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

    def show(self) -> None:
        """Prints the outcome."""
        console = Console(width=None if sys.stdout.isatty() else 150)
        table = Table("step", "seconds", "result", title="What was rehearsed")
        for step in self.steps:
            table.add_row(
                step.name,
                f"{step.seconds:.0f}",
                f"FAILED: {step.failure.splitlines()[0]}" if step.failure else step.shown,
            )
        console.print(table)
        print("What can't be rehearsed here:")
        for line in CANNOT_BE_REHEARSED:
            print(f"  - {line}")
        print(f"{len(self.steps)} steps in {self.seconds / 60:.1f} min: {'good' if self.is_good else 'NOT good'}")
