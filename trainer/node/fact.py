"""The iteration fact: what a rank says about itself. `fact.schema.json` describes each field."""

from __future__ import annotations

import json
import resource
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from enum import Enum

from trainer.node.metadata import Instance

SCHEMA_VERSION = 1
FILE_NAME = "iteration.fact"
LONGEST_REASON = 2000
"""Characters of a reason that are kept: the text of an exception may have pages."""


class State(str, Enum):
    """What a rank is doing."""

    STARTING = "starting"
    TRAINING = "training"
    DRAINING = "draining"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    FAILED = "failed"


class NoticeKind(str, Enum):
    """What the spot service says of an instance."""

    INTERRUPTION = "interruption"
    """It is taken back at a time that is named."""
    REBALANCE = "rebalance"
    """It is at a higher risk of being taken back."""


@dataclass(frozen=True)
class Notice:
    """A notice of the spot service. `ends_at` is None where no time is named. Times are ISO 8601."""

    kind: NoticeKind
    seen_at: str
    ends_at: str | None


@dataclass(frozen=True)
class MembershipChange:
    """One change of the world. `pause_s` is the time from the last step before the change to the first one after it."""

    at: str
    from_size: int
    to_size: int
    pause_s: float
    steps_lost: int


@dataclass(frozen=True)
class RankFigures:
    """The numbers of a rank's training. A rank that has not entered a world yet knows none of them."""

    rank: int | None = None
    world_size: int | None = None
    step: int = 0
    iteration_time_s: float | None = None
    compute_time_s: float | None = None
    samples: float | None = None
    tokens: float | None = None
    window: int = 0
    total_steps: int | None = None
    total_tokens: int = 0
    loss: float | None = None
    share: float | None = None
    gradient_bytes: int | None = None
    last_change: MembershipChange | None = None


@dataclass(frozen=True)
class IterationFact:
    """One fact, complete: the node, the state of its rank, and the rank's figures."""

    instance: Instance
    state: State
    reason: str | None
    figures: RankFigures
    emulated_speed: float | None
    peak_memory_bytes: int
    updated_at: str
    steal_share: float | None = None
    notice: Notice | None = None

    def to_json(self) -> str:
        """Returns the fact as one JSON object, as `fact.schema.json` describes it."""
        fact = {
            "schema": SCHEMA_VERSION,
            **asdict(self.instance),
            "state": self.state.value,
            "reason": None if self.reason is None else self.reason[:LONGEST_REASON],
            **asdict(self.figures),
            "emulated_speed": self.emulated_speed,
            "peak_memory_bytes": self.peak_memory_bytes,
            "steal_share": self.steal_share,
            "updated_at": self.updated_at,
            "notice": None if self.notice is None else asdict(self.notice),
        }
        return json.dumps(fact)


def timestamp(seconds: float) -> str:
    """Returns seconds since the epoch as ISO 8601 in UTC, with milliseconds and a Z."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def peak_memory_bytes() -> int:
    """Returns the most memory that this process has ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
