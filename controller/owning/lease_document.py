"""The lease as JSON (`lease.schema.json`), written and read."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict
from typing import Any

from controller.domain.lease import Fired, HeadEnding, Lease, LeaseHolder, Place, SwitchSettings
from controller.domain.times import iso, parse_time

VERSION = 1
TIMES = ("taken_at", "ended_at", "step_at", "waits_since")


class UnreadableError(ValueError):
    """What lies in the place of the lease is no lease. The message says why."""


def to_document(lease: Lease) -> bytes:
    """Returns the lease as it is kept in the bucket.

    No two writes are the same: S3's ETag is the MD5 of the content, and each write shall have an ETag of its own.
    """
    plain = asdict(lease)
    for name in TIMES:
        plain[name] = _time(plain[name])
    if plain["fired"] is not None:
        plain["fired"]["at"] = _time(plain["fired"]["at"])
    return json.dumps({"version": VERSION, "written": uuid.uuid4().hex, **plain}, indent=1).encode() + b"\n"


def from_document(content: bytes) -> Lease:
    """Returns the lease that is kept. Fields that a later version may add are left out.

    Raises:
        UnreadableError: The content is torn, or no lease of this version.
    """
    try:
        return _lease(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error


def _lease(plain: dict[str, Any]) -> Lease:
    if plain["version"] != VERSION:
        raise ValueError(f"its version is {plain['version']!r}, and this Centavo reads {VERSION}")
    switch, fired, run_holder = plain["switch"], plain["fired"], plain["run_holder"]
    return Lease(
        cluster=str(plain["cluster"]),
        environment=str(plain["environment"]),
        run=plain["run"],
        generation=int(plain["generation"]),
        holder=_holder(plain["holder"]),
        taken_at=parse_time(plain["taken_at"]),
        lasts_s=float(plain["lasts_s"]),
        released=bool(plain["released"]),
        stage=str(plain["stage"]),
        ended_at=_seconds(plain["ended_at"]),
        step=plain["step"],
        step_at=_seconds(plain["step_at"]),
        switch=SwitchSettings(
            lease_s=float(switch["lease_s"]),
            ended_s=float(switch["ended_s"]),
            stalled_s=float(switch["stalled_s"]),
            worker_s=float(switch["worker_s"]),
            reaper_s=float(switch["reaper_s"]),
            head=HeadEnding(switch["head"]),
        ),
        fired=None if fired is None else Fired(str(fired["by"]), str(fired["why"]), parse_time(fired["at"])),
        waits_since=_seconds(plain.get("waits_since")),
        run_holder=None if run_holder is None else _holder(run_holder),
    )


def _holder(plain: dict[str, Any]) -> LeaseHolder:
    return LeaseHolder(
        id=str(plain["id"]),
        host=str(plain["host"]),
        user=str(plain["user"]),
        pid=int(plain["pid"]),
        command=str(plain["command"]),
        place=Place(plain["place"]),
        checkout=str(plain["checkout"]),
    )


def _time(at: float | None) -> str | None:
    return None if at is None else iso(at)


def _seconds(text: str | None) -> float | None:
    return None if text is None else parse_time(text)
