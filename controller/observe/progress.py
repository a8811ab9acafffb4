"""How far the training is, as its ranks and its launcher say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from controller.domain import Observation, Progress
from controller.domain.reasons import Reason
from controller.domain.reasons.ending import LauncherFailed
from controller.domain.text import one_line

LONGEST_REASON = 4_000
"""As in the JSON Schema of the launcher's done.json."""


@dataclass(frozen=True)
class TrainingEnd:
    """How the training ended."""

    finished: bool
    reason: Reason | None = None
    """Why it failed; None where it finished."""


def read_progress(observation: Observation, started_at: float) -> Progress | None:
    """Returns the progress as most ranks see it; None while no rank knows the length of the training.

    The ranks of one world make their steps together. So each figure is the median over the ranks, which one rank with
    wrong figures does not move. Of two middle ranks the lower one counts.
    """
    knowing = [fact for fact in observation.facts if fact.total_steps]
    if not knowing:
        return None
    return Progress(
        step=median_low(fact.step for fact in knowing),
        total_steps=median_low(fact.total_steps or 0 for fact in knowing),
        tokens=median_low(fact.total_tokens or 0 for fact in knowing),
        started_at=started_at,
        at=observation.at,
    )


def read_end(head_facts: Mapping[str, Any] | None) -> TrainingEnd | None:
    """Returns what the launcher left on the head when it ended; None while the training goes on.

    Args:
        head_facts: The head's local facts. The launcher's is called `training`: `{"status": ..., "reason": ...}`.
    """
    done = (head_facts or {}).get("training")
    status = done.get("status") if isinstance(done, Mapping) else None
    if not isinstance(done, Mapping) or not isinstance(status, str) or status not in ("finished", "failed"):
        return None
    if status == "finished":
        return TrainingEnd(finished=True)
    said = done.get("reason")
    reason = one_line(said, LONGEST_REASON) if isinstance(said, str) else None
    return TrainingEnd(finished=False, reason=LauncherFailed(reason))
