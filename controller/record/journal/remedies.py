"""The remedies that were tried on a training without progress."""

from __future__ import annotations

import json
from typing import Any

from controller.domain.health import Remedy, RemedyKind
from controller.record.journal import codec
from controller.record.journal.reasons import reason_from_plain
from controller.record.journal.run import RunValues

MOST_KEPT = 200
"""The latest remedies that are kept. Only those of the last hours count."""


class RemedyTable(RunValues):
    """The value `remedies` of the table `run`."""

    def remedies(self) -> tuple[Remedy, ...]:
        """Returns the remedies that were tried, oldest first."""
        return tuple(map(_remedy, json.loads(self._values().get("remedies", "[]"))))

    def add_remedy(self, remedy: Remedy) -> None:
        """Keeps a remedy, before it is tried."""
        self._set("remedies", codec.to_json((*self.remedies(), remedy)[-MOST_KEPT:]))


def _remedy(raw: dict[str, Any]) -> Remedy:
    return Remedy(RemedyKind(raw["kind"]), raw["at"], reason_from_plain(raw["reason"]), raw["node"])
