"""The lease as a reader sees it. `controller` writes it; here it is data from outside, of which nothing is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .waits import Waits, bounded, waits_of

LEASE_KEY = "control/lease.json"
VERSION = 1
MOST_BYTES = 65536
MOST_NAME = 200


class LeaseError(Exception):
    """A lease that cannot be understood. The message says why."""


@dataclass(frozen=True)
class Lease:
    """Who owns the cluster, and how its training is.

    Attributes:
        cluster: The cluster's name.
        run: The run's name; None where there is none yet.
        generation: A number that grows with each change of the holder.
        holder: Who holds it, in words for a person.
        lasts_s: How long it is valid after it was written.
        released: Whether it was given back.
        stage: "starting", "training", "ending" or "ended".
        step: The last step that the holder has seen.
        step_at: When the holder saw a new step for the last time, by its own clock, in seconds since the epoch.
        lacks_capacity: Whether the run waits for capacity, with no node left that could train.
        fired_by: Which switch has fired: "head", "worker", "reaper" or "person"; None where none has.
        waits: How long each switch waits.
    """

    cluster: str
    run: str | None = None
    generation: int = 0
    holder: str = "somebody unknown"
    lasts_s: float = 900.0
    released: bool = False
    stage: str = "starting"
    step: int | None = None
    step_at: float | None = None
    lacks_capacity: bool = False
    fired_by: str | None = None
    waits: Waits = field(default_factory=Waits)

    @property
    def is_owned(self) -> bool:
        """Whether its holder means to renew it."""
        return not self.released and self.fired_by is None


def parse_document(text: bytes) -> dict[str, Any]:
    """Returns the object in a lease's bytes. Raises LeaseError."""
    if len(text) > MOST_BYTES:
        raise LeaseError(f"it has more than {MOST_BYTES} bytes")
    try:
        document = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise LeaseError(f"it is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise LeaseError("it is no JSON object")
    return document


def parse_lease(document: Mapping[str, Any], cluster: str) -> Lease:
    """Returns the lease in an object. Unknown fields are ignored.

    Raises:
        LeaseError: It has another version or belongs to another cluster.
    """
    if document.get("version") != VERSION:
        raise LeaseError(f"its version is {str(document.get('version'))[:20]!r} and not {VERSION}")
    if document.get("cluster") != cluster:
        raise LeaseError(f"it belongs to the cluster {str(document.get('cluster'))[:MOST_NAME]!r}, not to {cluster!r}")
    waits = waits_of(document.get("switch"))
    fired = document.get("fired")
    return Lease(
        cluster=cluster,
        run=_name(document.get("run")),
        generation=_whole(document.get("generation")) or 0,
        holder=_holder(document.get("holder")),
        lasts_s=bounded(document.get("lasts_s"), waits.lease_s),
        released=document.get("released") is True,
        stage=_name(document.get("stage")) or "starting",
        step=_whole(document.get("step")),
        step_at=_time(document.get("step_at")),
        lacks_capacity=_time(document.get("waits_since")) is not None,
        fired_by=None if fired is None else _fired_by(fired),
        waits=waits,
    )


def _fired_by(fired: object) -> str:
    by = fired.get("by") if isinstance(fired, Mapping) else None
    return _name(by) or "somebody"


def _name(value: object) -> str | None:
    """Returns a short text of printable characters without any path in it; None for anything else."""
    if not isinstance(value, str) or not 0 < len(value) <= MOST_NAME:
        return None
    return value if value.isprintable() and "/" not in value and not value.startswith(".") else None


def _time(value: object) -> float | None:
    """Returns a time in seconds since the epoch; None for what is no time with its zone."""
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        return found.timestamp() if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _holder(value: object) -> str:
    given = value if isinstance(value, Mapping) else {}
    user, host = (_name(given.get(name)) or "?" for name in ("user", "host"))
    return f"{user} on {host}"
