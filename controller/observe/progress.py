"""How far the training is, as its ranks and its launcher say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain import Observation, Progress
from controller.domain.reasons import Reason
from controller.domain.reasons.ending import LauncherFailed


@dataclass(frozen=True)
class TrainingEnd:
    """How the training ended."""

    finished: bool
    reason: Reason | None = None
    """Why it failed; None where it finished."""


def read_progress(observation: Observation, started_at: float) -> Progress | None:
    """Returns the progress of the rank that is the furthest; None while no rank knows the length of the training."""
    knowing = [fact for fact in observation.facts if fact.total_steps]
    if not knowing:
        return None
    furthest = max(knowing, key=lambda fact: (fact.step, fact.total_tokens or 0))
    return Progress(
        step=furthest.step,
        total_steps=furthest.total_steps or 0,
        tokens=furthest.total_tokens or 0,
        started_at=started_at,
        at=observation.at,
    )


def read_end(head_facts: Mapping[str, Any] | None) -> TrainingEnd | None:
    """Returns what the launcher left on the head when it ended; None while the training goes on.

    Args:
        head_facts: The head's local facts. The launcher's is called `training`: `{"status": ..., "reason": ...}`.
    """
    done = (head_facts or {}).get("training")
    if not isinstance(done, Mapping) or done.get("status") not in ("finished", "failed"):
        return None
    if done["status"] == "finished":
        return TrainingEnd(finished=True)
    said = done.get("reason")
    return TrainingEnd(finished=False, reason=LauncherFailed(None if said is None else str(said)))
