"""How far the training is, from what its ranks and its launcher say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain import Fact, Observation, Progress, TrainingState


@dataclass(frozen=True)
class TrainingEnd:
    """The training has ended: `finished` or not, and why not."""

    finished: bool
    reason: str | None = None


def read_progress(observation: Observation, started_at: float) -> Progress | None:
    """The furthest that any rank says it is; None while no rank knows the length of the training."""
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
    """What the launcher left on the head when it ended (its `training` fact); None while the training goes on."""
    done = (head_facts or {}).get("training")
    if not isinstance(done, Mapping) or done.get("status") not in ("finished", "failed"):
        return None
    reason = done.get("reason")
    return TrainingEnd(done["status"] == "finished", None if reason is None else str(reason))


def world_size(facts: tuple[Fact, ...]) -> int | None:
    """The world size that all training ranks agree on; None while they differ or none trains."""
    sizes = {fact.world_size for fact in facts if fact.state is TrainingState.TRAINING}
    return sizes.pop() if len(sizes) == 1 else None
