"""Turns plain mappings (YAML, JSON) into frozen dataclasses, and names exactly what does not fit."""

from __future__ import annotations

import dataclasses
import difflib
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it, says why, and what would do."""


def build(cls: type[T], data: object, where: str = "") -> T:
    """An instance of the dataclass `cls` from the mapping `data`; nested dataclasses are built the same way.

    `where` is the dotted name of the mapping in its file, for the messages. Keys that are absent keep their default.
    Raises SettingsError for an unknown key, a missing one, or a value of the wrong type.
    """
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise SettingsError(f"{where or 'the settings'}: expected a mapping, not {data!r}")
    hints = get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}  # type: ignore[arg-type]
    for key in data:
        if key not in fields:
            raise SettingsError(f"{_dotted(where, str(key))}: unknown key{_suggestion(str(key), list(fields))}")
    for name, field in fields.items():
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if name not in data and not has_default:
            raise SettingsError(f"{_dotted(where, name)}: is missing")
    values = {key: convert(hints[key], value, _dotted(where, key)) for key, value in data.items()}
    try:
        return cls(**values)
    except SettingsError:
        raise
    except ValueError as error:
        raise SettingsError(f"{where}: {error}" if where else str(error)) from error


def convert(kind: Any, value: object, where: str) -> Any:
    """`value` as the type `kind`: whole numbers pass for fractional ones, lists for tuples; else SettingsError."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _convert_union(kind, value, where)
    if origin is Literal:
        if value not in get_args(kind):
            raise SettingsError(f"{where}: must be one of {', '.join(map(str, get_args(kind)))}, not {value!r}")
        return value
    if dataclasses.is_dataclass(kind):
        return build(kind, value, where)  # type: ignore[arg-type]
    if origin in (tuple, list):
        return _convert_sequence(kind, value, where)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise SettingsError(f"{where}: expected a mapping, not {value!r}")
        return {str(key): convert(get_args(kind)[1], item, f"{where}.{key}") for key, item in value.items()}
    return _convert_scalar(kind, value, where)


def _convert_scalar(kind: Any, value: object, where: str) -> Any:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if kind is float and isinstance(value, str):  # YAML 1.1 reads 1e-9, without a dot, as a string
        try:
            return float(value)
        except ValueError:
            pass
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind in (bool, str) and isinstance(value, kind):
        return value
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
    raise SettingsError(f"{where}: expected {names.get(kind, kind)}, not {value!r}")


def _convert_union(kind: Any, value: object, where: str) -> Any:
    members = get_args(kind)
    if value is None and type(None) in members:
        return None
    problems = []
    for member in members:
        if member is type(None):
            continue
        try:
            return convert(member, value, where)
        except SettingsError as error:
            problems.append(error)
    raise problems[0]


def _convert_sequence(kind: Any, value: object, where: str) -> Any:
    if not isinstance(value, (list, tuple)):
        raise SettingsError(f"{where}: expected a list, not {value!r}")
    item_kind = get_args(kind)[0]
    items = [convert(item_kind, item, f"{where}[{index}]") for index, item in enumerate(value)]
    return tuple(items) if get_origin(kind) is tuple else items


def _dotted(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _suggestion(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(known))}"
