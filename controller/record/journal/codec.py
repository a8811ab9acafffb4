"""Domain values as JSON, and back. Times are seconds since the epoch, as in the domain."""

from __future__ import annotations

import json
import zlib
from collections.abc import Hashable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, cast

from controller.domain import (
    Credits,
    Decision,
    Fact,
    FlavorEstimate,
    Fleet,
    FleetEstimate,
    MembershipChange,
    Move,
    MovePhase,
    Notice,
    NoticeKind,
    Risk,
    TrainingState,
    UnknownNode,
    Verdict,
)
from controller.domain.health import Remedy, RemedyKind
from controller.domain.reasons import Reason
from controller.record.journal.reasons import plain_reason, reason_from_plain, reason_from_text

PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types whose values are plain already."""


def to_json(value: Any) -> str:
    """Returns a domain value, or a tuple of them, as JSON."""
    return json.dumps(plain(value), separators=(",", ":"), allow_nan=False)


def packed(value: Any) -> bytes:
    """Returns a domain value, or a tuple of them, as JSON that zlib has packed."""
    return zlib.compress(to_json(value).encode())


def unpacked(column: str | bytes) -> Any:
    """Returns what `packed` has written, as plain data. Older journals have the JSON itself."""
    return json.loads(column if isinstance(column, str) else zlib.decompress(column))


def plain(value: Any) -> Any:
    """Returns a domain value as dictionaries, lists, strings and numbers."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Reason):
        return plain_reason(value)
    if isinstance(value, Mapping):  # a fleet is one
        return {str(key): plain(part) for key, part in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in _field_names(cast(Hashable, type(value)))}
    if isinstance(value, frozenset):
        value = sorted(value)
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def read_facts(column: str | bytes) -> tuple[Fact, ...]:
    """Returns facts that `packed` has written."""
    return tuple(_fact(raw) for raw in unpacked(column))


def read_unknown(column: str | bytes) -> tuple[UnknownNode, ...]:
    """Returns unknown nodes that `packed` has written."""
    return tuple(UnknownNode(**{**raw, "reason": reason_from_plain(raw["reason"])}) for raw in unpacked(column))


def read_credits(column: str | bytes | None) -> dict[str, Credits]:
    """Returns CPU credits by instance id that `packed` has written; none where the column is null."""
    return {} if column is None else {node: Credits(**raw) for node, raw in unpacked(column).items()}


def read_decision(column: str | bytes) -> Decision:
    """Returns a decision that `packed` has written, by this Centavo or an earlier one."""
    raw = unpacked(column)
    raw["verdict"], raw["reason"] = Verdict(raw["verdict"]), reason_from_plain(raw["reason"])
    raw["current"], raw["target"] = Fleet(raw["current"]), Fleet(raw["target"])
    raw["flavors"] = tuple(map(flavor_from_plain, raw["flavors"]))
    for name in ("fleets", "scaling"):
        raw[name] = tuple(FleetEstimate(**{**fleet, "fleet": Fleet(fleet["fleet"])}) for fleet in raw.get(name, ()))
    raw["bad_nodes"] = tuple(raw.get("bad_nodes", ()))
    risk = raw.get("risk")
    raw["risk"] = None if risk is None else Risk(**{**risk, "rival": _optional_fleet(risk["rival"])})
    return Decision(**raw)


def _optional_fleet(raw: Mapping[str, int] | None) -> Fleet | None:
    return None if raw is None else Fleet(raw)


def flavor_from_plain(raw: Mapping[str, Any]) -> FlavorEstimate:
    """Returns what `plain` has made of the estimate of a flavor. Older journals have its notes as one text, `note`."""
    values = dict(raw)
    text = values.pop("note", None)
    notes = values.get("notes", [] if text is None else [text])
    return FlavorEstimate(**{**values, "notes": tuple(map(reason_from_plain, notes))})


def remedies_from_json(text: str) -> tuple[Remedy, ...]:
    """Returns remedies that `to_json` has written."""
    return tuple(
        Remedy(RemedyKind(raw["kind"]), raw["at"], reason_from_plain(raw["reason"]), raw["node"])
        for raw in json.loads(text)
    )


def move_to_row(move: Move) -> dict[str, Any]:
    """Returns a move as columns of the journal."""
    row = plain(move)
    row |= {name: to_json(getattr(move, name)) for name in ("source", "target", "grown", "drain", "reason", "left_out")}
    row["outcome_reason"] = None if move.outcome_reason is None else to_json(move.outcome_reason)
    return {**row, "phase": move.phase.value}


def move_from_row(row: Mapping[str, Any]) -> Move:
    """Returns a move from the journal's columns. Older journals lack `left_out`, or have nothing there."""
    values = {"left_out": None, **row}
    values["left_out"] = values["left_out"] or "{}"
    for name in ("source", "target", "left_out"):
        values[name] = Fleet(json.loads(values[name]))
    for name in ("grown", "drain"):
        values[name] = tuple(json.loads(values[name]))
    for name in ("reason", "outcome_reason"):
        values[name] = None if values[name] is None else reason_from_text(values[name])
    values["phase"] = MovePhase(values["phase"])
    values["is_probe"] = bool(values["is_probe"])
    return Move(**values)


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _fact(raw: dict[str, Any]) -> Fact:
    change, notice = raw.get("last_change"), raw.get("notice")
    return Fact(
        **{
            **raw,
            "state": TrainingState(raw["state"]),
            "last_change": None if change is None else MembershipChange(**change),
            "notice": None if notice is None else Notice(**{**notice, "kind": NoticeKind(notice["kind"])}),
        }
    )
