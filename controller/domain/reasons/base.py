"""What every reason is: a code that a program can look for, and the facts as typed fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Reason:
    """Why something was decided, refused or undone.

    Each subclass is one kind of reason: a frozen dataclass with the facts as fields, units in their names. The fields
    are strings, numbers, fleets, other reasons, and tuples or mappings of these. `controller.words.reasons` puts every
    kind into words; nothing else does.
    """

    code: ClassVar[str]
    """Names the kind in JSON, logs and metrics: lower case, words joined by hyphens. Unique, and never reused."""


@dataclass(frozen=True)
class Said(Reason):
    """A reason in words from outside of the controller: of a person, of AWS, of a rank, or of an older journal."""

    code: ClassVar[str] = "said"
    text: str
