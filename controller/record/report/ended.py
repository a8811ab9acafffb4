"""How a run that has ended without a finished training is told to the person who started it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.domain.errors import AskedToStopError, BudgetReachedError, CentavoError, TrainingFailedError

BUDGET_REACHED = "budget_reached"
"""The status of a run whose training was stopped because its budget was used up."""
STOPPED = "stopped"
"""The status of a run whose training was stopped because a person asked for it."""
HANDED_OVER = "handed_over"
"""The status of a run, in the folder of the machine that handed it to the head. Its further journal is there."""
GIVEN_BACK = "The workers were given back; the head stops itself later, and `centavo destroy` removes it."


def error_of(report: Mapping[str, Any], directory: Path) -> CentavoError | None:
    """Returns the error that a command ends with after a run; None where the training has finished.

    Args:
        report: The report of a run that has ended.
        directory: The folder of the run.
    """
    if report["status"] == "finished":
        return None
    reason = report["status_reason"] or "no reason was given"
    if report["status"] == BUDGET_REACHED:
        return BudgetReachedError(
            f"The training was stopped: {reason}.",
            f"{GIVEN_BACK} The storage of the run has the last checkpoint,"
            f" {directory}/report.html what was reached. A larger BUDGET= lets the next run go further.",
        )
    if report["status"] == STOPPED:
        return AskedToStopError(
            f"The training was stopped: {reason}.",
            f"{GIVEN_BACK} The storage of the run has the last checkpoint, {directory}/report.html what was reached.",
        )
    return TrainingFailedError(
        f"The training failed: {reason}.",
        f"Its logs are in {directory}/results. {GIVEN_BACK}",
    )
