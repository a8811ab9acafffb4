"""Reading a file of settings, such as training.yml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from trainer.settings.section import Section, SettingsError, section_from
from trainer.settings.training import Settings

S = TypeVar("S", bound=Section)


def read(path: Path, overrides: Sequence[str] = ()) -> Settings:
    """Returns the settings of training.yml. See `read_as`."""
    return read_as(Settings, path, overrides)


def read_as(kind: type[S], path: Path, overrides: Sequence[str] = ()) -> S:
    """Returns the settings of a file.

    Args:
        kind: What the file describes.
        path: A YAML file.
        overrides: Keys that take the place of those in the file, such as "model.layers=2".

    Raises:
        SettingsError: The file or a key cannot be used. The message names both.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        for override in overrides:
            data = _overridden(data, override)
        return section_from(kind, data)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: is not YAML: {error}") from error
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _overridden(data: Any, override: str) -> Any:
    name, equals, value = override.partition("=")
    if not equals:
        raise SettingsError(f"{override}: expected key=value, such as model.layers=2")
    data = {} if data is None else data
    section = data
    *path, key = name.split(".")
    for part in path:
        section = section.setdefault(part, {})
    section[key] = yaml.safe_load(value)
    return data
