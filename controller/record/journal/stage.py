"""Where a run is, and how its training ended."""

from __future__ import annotations

from enum import Enum

from controller.record.journal.run import RunValues


class Stage(str, Enum):
    """Where a run is. A second `centavo optimize` goes on from here."""

    STARTING = "starting"
    TRAINING = "training"
    ENDING = "ending"
    ENDED = "ended"


FIRST_STAGE = {"stage": Stage.STARTING.value, "status": "running"}
"""The values that a new run's table `run` begins with."""


class StageTable(RunValues):
    """Where the run is."""

    def stage(self) -> Stage:
        """Returns where the run is."""
        return Stage(self._values()["stage"])

    def set_stage(self, stage: Stage) -> None:
        """Keeps where the run is."""
        self._set("stage", stage.value)

    def status(self) -> str:
        """Returns running, finished, failed, or interrupted (its fleet was taken away)."""
        return self._values().get("status", "running")

    def end(self, status: str, reason: str | None, at: float) -> None:
        """Keeps how and when the training ended. The run itself ends with `set_stage(Stage.ENDED)`."""
        self._set("status", status)
        self._set("status_reason", reason or "")
        self._set("ended_at", repr(at))

    def status_reason(self) -> str | None:
        """Returns why the training ended, or None if nobody said."""
        return self._values().get("status_reason") or None

    def ended_at(self) -> float | None:
        """Returns when the training ended, or None while it goes on."""
        ended_at = self._values().get("ended_at")
        return None if ended_at is None else float(ended_at)
