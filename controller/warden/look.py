"""One look at the lease: what the bucket answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .lease import Lease


class Standing(str, Enum):
    """What a look has found."""

    FOUND = "found"
    MISSING = "missing"
    """The bucket answers, and holds no lease."""
    UNREAD = "unread"
    """The bucket does not answer, or what lies there cannot be understood."""


@dataclass(frozen=True)
class Look:
    """One look at the lease.

    Attributes:
        standing: What was found.
        lease: The lease; None unless one was found.
        age_s: The seconds since it was written, by S3's own clock.
        step_age_s: The seconds since the holder saw a new step, as far as its clock is right; None where it saw none.
        etag: What its content is known by, for conditional writes.
        document: Its content as written.
        problem: Why it could not be read, in words for a person.
    """

    standing: Standing
    lease: Lease | None = None
    age_s: float = 0.0
    step_age_s: float | None = None
    etag: str = ""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    problem: str = ""
