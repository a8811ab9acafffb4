"""The rows of a comparison in a file, so that a long comparison can be stopped and continued.

Each line is a JSON object: one policy in one scenario. Lines are only ever added. A line that was torn when the
computer stopped is left out, and its scenario runs again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from controller.decide import Objective
from controller.simulate.compare import Row
from controller.simulate.run import Outcome

Scenario = tuple[str, int]
"""A family and a seed."""
CURVES = ("moments", "decisions")
"""What is not kept of an outcome."""


@dataclass
class KeptRows:
    """The rows that were compared so far, by scenario and policy.

    Attributes:
        file: Where they are kept; None keeps nothing.
        prices: What the prices are. Rows with other prices in the same file are left alone.
    """

    file: Path | None
    prices: str
    _rows: dict[Scenario, dict[str, Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for line in self._lines():
            if line["prices"] == self.prices:
                self._rows.setdefault((line["family"], line["seed"]), {})[line["policy"]] = _row(line)

    def of(self, family: str, seed: int) -> Mapping[str, Row]:
        """Returns the rows of a scenario by policy."""
        return self._rows.get((family, seed), {})

    def add(self, family: str, seed: int, rows: Mapping[str, Row]) -> None:
        """Adds the rows of a scenario, and appends them to the file."""
        self._rows.setdefault((family, seed), {}).update(rows)
        if self.file is None:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        where = {"family": family, "seed": seed, "prices": self.prices}
        lines = [json.dumps({**where, "policy": policy, **_kept(row)}) for policy, row in rows.items()]
        with self.file.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yields the lines that are whole. A torn end is closed, so that the next line begins on its own."""
        if self.file is None or not self.file.exists():
            return
        text = self.file.read_text(encoding="utf-8")
        if text and not text.endswith("\n"):
            with self.file.open("a", encoding="utf-8") as file:
                file.write("\n")
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue


def _kept(row: Row) -> dict[str, object]:
    outcomes = {"outcome": asdict(row.outcome), "oracle": asdict(row.oracle)}
    kept = {name: {k: v for k, v in one.items() if k not in CURVES} for name, one in outcomes.items()}
    return {"objective": row.objective.value, **kept}


def _row(line: Mapping[str, Any]) -> Row:
    outcome, oracle = (Outcome(**line[name], moments=(), decisions=()) for name in ("outcome", "oracle"))
    return Row(Objective(line["objective"]), outcome, oracle)
