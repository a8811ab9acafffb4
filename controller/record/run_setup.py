"""What a run was set up with: settings, versions and commit. It is kept at the run's beginning, to repeat the run."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.config.environment import Environment
from controller.edges.files import write_whole

FILE_NAME = "setup.json"
PACKAGES = (
    "ansible-core",
    "ansible-runner",
    "boto3",
    "gluonnlp",
    "horovod",
    "mxnet",
    "numpy",
    "pydantic",
    "python-terraform",
    "sacrebleu",
    "scipy",
    "sentencepiece",
)
_SECRET = re.compile(
    r"""(?im)^(\s*["']?(?:[\w-]*(?:secret|password|access_key)[\w-]*|[\w-]*token)["']?\s*[:=]\s*)[^\s#{\[].*$"""
)
_WAIT_S = 10


def keep_setup(environment: Environment, run_directory: Path, command: Mapping[str, Any]) -> None:
    """Keeps once what the run starts with. `command` is what a person asked for: policy, interval, ..."""
    file = run_directory / FILE_NAME
    if file.exists():
        return
    setup = {
        "command": dict(command),
        "versions": versions(environment.directory),
        "commit": commit(environment.root),
        "files": _files(environment),
    }
    write_whole(file, json.dumps(setup, indent=1) + "\n")


def read_setup(run_directory: Path) -> dict[str, Any]:
    """Returns what `keep_setup` has written; empty if there is none."""
    try:
        setup = json.loads((run_directory / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return setup if isinstance(setup, dict) else {}


def versions(terraform_directory: Path) -> dict[str, str]:
    """Returns the versions of what the run's numbers depend on. What is not installed is left out."""
    found = {"python": platform.python_version(), "system": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    told = _output(["terraform", "version", "-json"], terraform_directory)
    if told:
        document = json.loads(told)
        found["terraform"] = document["terraform_version"]
        found |= {
            provider.rsplit("/", 1)[-1] + " provider": version
            for provider, version in (document.get("provider_selections") or {}).items()
        }
    return found


def commit(root: Path) -> str | None:
    """Returns the commit that was run, marked if files were changed since; None outside of a repository."""
    told = _output(["git", "describe", "--always", "--dirty=, with changes", "--abbrev=12"], root)
    return told.strip() if told else None


def without_secrets(text: str) -> str:
    """Returns the text of a settings file without the values of secrets, tokens and passwords."""
    return _SECRET.sub(r"\1(not shown)", text)


def _files(environment: Environment) -> dict[str, str]:
    paths = [
        path for kind in ("*.yml", "*.tf", "*.tfvars", "*.tfvars.json") for path in environment.directory.glob(kind)
    ]
    paths = [*sorted(paths), environment.path(environment.settings.training.config)]
    return {
        os.path.relpath(path, environment.root): without_secrets(path.read_text(encoding="utf-8", errors="replace"))
        for path in paths
        if path.is_file()
    }


def _output(command: list[str], directory: Path) -> str | None:
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=_WAIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
