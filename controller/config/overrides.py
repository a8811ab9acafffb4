"""Settings that come from the process environment, over those of `centavo.yml`.

`CENTAVO__FLEET__INITIAL='{c5.large: 2}'` takes the place of `fleet.initial`: two underscores stand for a dot, and the
value is read as YAML. So a run can differ from an environment's files in a few settings, as the rehearsal of `ENV=aws`
does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from controller.domain.errors import ConfigError

PREFIX = "CENTAVO__"


def overridden(document: Any, variables: Mapping[str, str]) -> Any:
    """Returns the parsed content of `centavo.yml` with what the process environment sets.

    A value is replaced as a whole.

    Raises:
        ConfigError: A value is not YAML, or a variable names a key inside of something that has none.
    """
    for name in sorted(variables):
        if name.startswith(PREFIX):
            keys = name.removeprefix(PREFIX).lower().split("__")
            document = _with(document, keys, _value(name, variables[name]), name)
    return document


def names_of_overrides(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the names of the variables that set something, in order."""
    return tuple(sorted(name for name in variables if name.startswith(PREFIX)))


def _value(name: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"The environment variable {name} is not valid YAML: {error}",
            "Write its value as in centavo.yml, for example '{c5.large: 2}'.",
        ) from error


def _with(document: Any, keys: list[str], value: Any, name: str) -> Any:
    first, *rest = keys
    inner = {} if document is None else document
    if not isinstance(inner, dict):
        raise ConfigError(
            f"The environment variable {name} sets a key inside of a setting that has no keys.",
            "Name a setting as in centavo.yml, with two underscores in place of each dot.",
        )
    return {**inner, first: _with(inner.get(first), rest, value, name) if rest else value}
