"""Reasons as JSON, and back: `{"code": "...", facts...}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

from controller.domain.reasons import REASONS, Reason, Said


def reason_from_plain(raw: Any) -> Reason:
    """Returns the reason that `codec.plain` has written. Text, and codes of other versions, come back as `Said`."""
    if not isinstance(raw, Mapping):
        return Said(str(raw))
    kind = REASONS.get(raw.get("code", ""))
    if kind is None:
        return Said(f"{raw.get('code')}: {', '.join(f'{k} {v}' for k, v in raw.items() if k != 'code')}")
    hints = get_type_hints(kind)
    return kind(**{f.name: _value(hints[f.name], raw[f.name]) for f in fields(kind) if f.name in raw})


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
