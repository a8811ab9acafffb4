"""The mark in a proposal's pull request, by which Centavo knows what it has proposed there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain import Fleet

MARKER = re.compile(r"<!-- centavo:proposal (\{.*?\}) -->")


@dataclass(frozen=True)
class Mark:
    """What a pull request's body says to programs."""

    run: str
    source: Fleet
    target: Fleet
    withdrawn: bool = False

    def text(self) -> str:
        """Returns the mark as a comment that people do not see."""
        values = {
            "run": self.run,
            "source": dict(self.source),
            "target": dict(self.target),
            "withdrawn": self.withdrawn,
        }
        return f"<!-- centavo:proposal {json.dumps(values, sort_keys=True)} -->"


def read_mark(body: str) -> Mark | None:
    """Returns the mark in a pull request's body; None if there is none, or it was edited."""
    found = MARKER.search(body)
    try:
        raw: Mapping[str, Any] = json.loads(found[1]) if found else {}
        return Mark(str(raw["run"]), Fleet(raw["source"]), Fleet(raw["target"]), bool(raw["withdrawn"]))
    except (ValueError, KeyError, TypeError):
        return None
