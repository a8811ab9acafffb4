"""Reading an environment's settings from its files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.config.environment import Environment
from controller.config.overrides import names_of_overrides, overridden
from controller.config.settings import parse_settings
from controller.domain.errors import ConfigError


def load_environment(root: Path, name: str, variables: Mapping[str, str] | None = None) -> Environment:
    """Reads the settings of an environment.

    Args:
        root: The root of the repository.
        name: The name of the environment.
        variables: Environment variables, of which some may set settings; None: those of this process.

    Raises:
        ConfigError: It names the file, the key, and what to do.
    """
    root = root.resolve()
    environments = root / "terraform" / "environments"
    file = environments / name / "centavo.yml"
    if not file.is_file():
        known = sorted(path.parent.name for path in environments.glob("*/centavo.yml"))
        raise ConfigError(
            f"There is no environment {name!r}: {file} does not exist.",
            f"Choose one of {', '.join(known)} with --env."
            if known
            else f"Run this in the root of the repository, or name it with --root (now {root}).",
        )
    given = os.environ if variables is None else variables
    origin = " and ".join([str(file), *names_of_overrides(given)])
    environment = Environment(name, root, parse_settings(overridden(read_yaml(file), given), origin))
    _check_files(environment)
    return environment


def read_yaml(file: Path) -> Any:
    """Returns the parsed YAML of a file. Raises ConfigError, with the line, when it is not YAML."""
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} can't be read: {error.strerror}.", "Make it readable.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid YAML: {error}", "Correct the line that is named.") from error


def _check_files(environment: Environment) -> None:
    """Raises ConfigError when a file is missing that the settings name."""
    for file in environment.settings.training.speeds_depend_on:
        if not environment.path(file).is_file():
            raise ConfigError(
                f"{environment.settings_file}: training.speeds_depend_on names {file}, which is no file.",
                "Name files that exist, relative to the root of the repository.",
            )
