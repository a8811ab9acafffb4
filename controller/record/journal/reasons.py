"""Reasons as JSON: as the journal keeps them (`{"code": "...", facts...}`), and as reports and logs show them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from controller.domain.reasons import REASONS, Reason, Said
from controller.words.reasons import reason_in_words


def plain_reason(reason: Reason) -> dict[str, Any]:
    """Returns the reason as the journal keeps it."""
    return {"code": reason.code, **{f.name: _plain(getattr(reason, f.name)) for f in fields(reason)}}


def described_reason(reason: Reason | None, words: str = "reason", prefix: str = "reason") -> dict[str, Any]:
    """Returns a reason as reports and logs show it: in words for people, as code and facts for programs.

    Args:
        reason: The reason, or None, of which words, code and facts are None.
        words: The key of the words.
        prefix: What the keys of code and facts begin with.
    """
    if reason is None:
        return {words: None, f"{prefix}_code": None, f"{prefix}_facts": None}
    facts = plain_reason(reason)
    return {words: reason_in_words(reason), f"{prefix}_code": facts.pop("code"), f"{prefix}_facts": facts}


def reason_from_text(text: str) -> Reason:
    """Returns the reason in a column of the journal: JSON, or the words that older journals have there."""
    try:
        return reason_from_plain(json.loads(text))
    except ValueError:
        return Said(text)


def reason_from_plain(raw: Any) -> Reason:
    """Returns the reason that `plain_reason` has written. Text, and reasons of other versions, come back as `Said`."""
    if not isinstance(raw, Mapping):
        return Said(str(raw))
    kind = REASONS.get(str(raw.get("code")))
    if kind is None:
        return _foreign(raw)
    hints = _hints(kind.code)
    try:
        return kind(**{f.name: _value(hints[f.name], raw[f.name]) for f in fields(kind) if f.name in raw})
    except TypeError:
        return _foreign(raw)


@cache
def _hints(code: str) -> dict[str, Any]:
    """Returns by name the types of a reason's facts."""
    return get_type_hints(REASONS[code])


def _foreign(raw: Mapping[str, Any]) -> Said:
    """Returns in words a reason of another version: its code is not known here, or a fact is missing."""
    facts = ", ".join(f"{name} {fact}" for name, fact in raw.items() if name != "code")
    return Said(f"{raw.get('code')}: {facts}" if facts else str(raw.get("code")))


def _plain(value: Any) -> Any:
    """Returns a reason's fact as plain data."""
    if isinstance(value, Reason):
        return plain_reason(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def _value(hint: Any, raw: Any) -> Any:
    """Returns a plain value as the type that a field declares."""
    if raw is None:
        return None
    origin, arguments = get_origin(hint), [a for a in get_args(hint) if a is not type(None)]
    if origin is tuple:
        return tuple(_value(arguments[0], part) for part in raw)
    if origin is Mapping:
        return {key: _value(arguments[1], part) for key, part in raw.items()}
    if arguments:  # `X | None`
        return _value(arguments[0], raw)
    return reason_from_plain(raw) if issubclass(hint, Reason) else hint(raw)
