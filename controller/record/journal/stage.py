"""Where a run is, what was done for its health, and how its training ended."""

from __future__ import annotations

from enum import Enum

from controller.domain.health import Remedy
from controller.domain.reasons import Reason
from controller.record.journal.codec import remedies_from_json, to_json
from controller.record.journal.reasons import reason_from_text
from controller.record.journal.run import RunValues


class Stage(str, Enum):
    """Where a run is. A second `centavo optimize` goes on from here."""

    STARTING = "starting"
    TRAINING = "training"
    ENDING = "ending"
    ENDED = "ended"


FIRST_STAGE = {"stage": Stage.STARTING.value, "status": "running"}
"""The values that a new run's table `run` begins with."""


KEPT_REMEDIES = 200


class StageTable(RunValues):
    """Where the run is."""

    def stage(self) -> Stage:
        """Returns where the run is."""
        return Stage(self._values()["stage"])

    def set_stage(self, stage: Stage) -> None:
        """Keeps where the run is."""
        self._set("stage", stage.value)

    def status(self) -> str:
        """Returns running, finished, failed, budget_reached, stopped, interrupted (its fleet was taken away)
        or handed_over (the head has its further journal)."""
        return self._value("status") or "running"

    def remedies(self) -> tuple[Remedy, ...]:
        """Returns the remedies that were tried, oldest first."""
        return remedies_from_json(self._value("remedies") or "[]")

    def add_remedy(self, remedy: Remedy) -> None:
        """Keeps a remedy that is tried now. Of many, the last ones are kept."""
        self._set("remedies", to_json((*self.remedies(), remedy)[-KEPT_REMEDIES:]))

    def end(self, status: str, reason: Reason | None, at: float) -> None:
        """Keeps how and when the training ended. The run itself ends with `set_stage(Stage.ENDED)`."""
        text = "" if reason is None else to_json(reason)
        self._set_all({"status": status, "status_reason": text, "ended_at": repr(at)})

    def status_reason(self) -> Reason | None:
        """Returns why the training ended without success; None where it goes on or has finished."""
        text = self._value("status_reason")
        return reason_from_text(text) if text else None

    def ended_at(self) -> float | None:
        """Returns when the training ended, or None while it goes on."""
        ended_at = self._value("ended_at")
        return None if ended_at is None else float(ended_at)
