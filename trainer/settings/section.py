"""What every section of training.yml is: frozen values, which pydantic checks, and errors that name the key."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, ValidationError, model_validator

S = TypeVar("S", bound="Section")


class SettingsError(ValueError):
    """A setting cannot be used. The message names it, says why, and says what would do."""


class Section(BaseModel):
    """A section of the settings. Each of its keys has a description, which `python -m trainer train --help` shows."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _take_nothing_as_defaults(cls, data: object) -> object:
        """Lets a section that is named in the file and left empty have its defaults."""
        return {} if data is None else data


def _number(value: object) -> object:
    """Returns the number of a text such as "1e-9", which YAML 1.1 does not read as a number."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    return value


Number = Annotated[float, BeforeValidator(_number)]
"""A number as YAML writes it."""
Texts = Annotated[tuple[str, ...], Strict(False)]
"""A list of texts."""


def section_from(kind: type[S], data: object) -> S:
    """Returns the section that plain mappings describe. Raises SettingsError, which names the first wrong key."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise SettingsError(_message(kind, error.errors()[0])) from error


_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a text",
    "tuple": "a list",
    "model": "a mapping",
}
"""What a value should have been, by the first word of pydantic's type of error."""
_BOUNDS: dict[str, Callable[[Any], str]] = {
    "greater_than_equal": lambda context: f"must be {context['ge']:g} or more",
    "greater_than": lambda context: "must be positive" if context["gt"] == 0 else f"must be above {context['gt']:g}",
    "less_than_equal": lambda context: f"must be {context['le']:g} or less",
    "less_than": lambda context: f"must be below {context['lt']:g}",
    "literal_error": lambda context: f"must be one of {context['expected'].replace(' or ', ', ')}".replace("'", ""),
}


def _message(kind: type[Section], error: Any) -> str:
    """Returns what pydantic has found, in the words of a person who writes YAML."""
    path = [part for part in error["loc"] if isinstance(part, str)]
    name, what, value = ".".join(path), error["type"], error["input"]
    if what == "extra_forbidden":
        return f"{name}: unknown key{_suggestion(path[-1], _keys_beside(kind, path))}"
    if what == "missing":
        return f"{name}: is missing"
    if what == "value_error":
        return f"{name}: {error['ctx']['error']}" if name else str(error["ctx"]["error"])
    if what in _BOUNDS:
        return f"{name}: {_BOUNDS[what](error['ctx'])}, not {value!r}"
    expected = _EXPECTED.get(what.split("_")[0])
    problem = error["msg"] if expected is None else f"expected {expected}"
    return f"{name or 'the settings'}: {problem}, not {value!r}"


def _keys_beside(kind: type[Section], path: list[str]) -> list[str]:
    """Returns the keys of the section that the last part of `path` is in."""
    for part in path[:-1]:
        inner: Any = kind.model_fields[part].annotation
        inner = next(iter(get_args(inner)), inner)  # of a list, what it is a list of
        assert isinstance(inner, type) and issubclass(inner, Section)
        kind = inner
    return sorted(kind.model_fields)


def _suggestion(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {close[0]}? There are {', '.join(known)}" if close else f"; there are {', '.join(known)}"
