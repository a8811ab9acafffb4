"""The outline of a plan: what changes, by address and by digests.

An outline holds no value of any resource, so it may be kept where plan files may not be. Two plans that do the same
have the same outline, on any machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import ConfigDict, StringConstraints
from pydantic.dataclasses import dataclass

from controller.edges.terraform_plan import Marker, Plan, PlanChange

STRICT = ConfigDict(extra="forbid", strict=True)
LONGEST_LINE = 2000
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=LONGEST_LINE)]
"""Text without control characters: the log of a pipeline takes lines that begin in a certain way for commands."""
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, config=STRICT)
class ChangeOutline:
    """What happens to one resource.

    Attributes:
        sha256: The digest of all attributes before and after.
        attributes: By the path of each attribute that changes, the digest of its value before and after.
    """

    address: Line
    action: Line
    previous_address: Line | None
    is_import: bool
    sha256: Digest
    attributes: dict[Line, Digest]


@dataclass(frozen=True, config=STRICT)
class PlanOutline:
    """What a plan changes. Changes are in order of address; `outputs` are the actions by the names of outputs."""

    changes: tuple[ChangeOutline, ...]
    outputs: dict[Line, Line]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the outline, in hexadecimal."""
        return _sha256(asdict(self))


def outline_of(plan: Plan) -> PlanOutline:
    """Returns the outline of a plan. Of a sensitive value it tells only whether that value changes."""
    changes = map(_change, plan.changed)
    return PlanOutline(
        changes=tuple(sorted(changes, key=lambda change: (change.address, change.action, change.sha256))),
        outputs={output.name: output.action.value for output in plan.outputs if output.action.is_change},
    )


def _change(change: PlanChange) -> ChangeOutline:
    return ChangeOutline(
        address=_line(change.address),
        action=change.action.value,
        previous_address=_line(change.previous_address) if change.previous_address else None,
        is_import=change.is_import,
        sha256=_sha256([_plain(change.before), _plain(change.after)]),
        attributes={
            _line(attribute.path): _sha256([_plain(attribute.before), _plain(attribute.after)])
            for attribute in change.attributes()
        },
    )


def _line(text: str) -> str:
    return (text if text.isprintable() else ascii(text))[:LONGEST_LINE]


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Returns a value that JSON can hold: markers as their text."""
    if isinstance(value, Marker):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value
