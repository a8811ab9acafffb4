"""The programs that build wheelhouses (requirements/), run as processes of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.domain.errors import StoppedError, SupplyError
from controller.domain.text import lines
from controller.edges.limited import run_limited

DESCRIBE_S, BUILD_S, GRACE_S = 120.0, 3600.0, 20.0
MOST_SAID = 1500
OF_NODES, OF_CONTROLLER = "wheelhouse.py", "controller_wheels.py"
"""The programs, for the packages of nodes and for those of a controller on the head."""


@dataclass(frozen=True)
class Built:
    """What is known of a wheelhouse.

    Attributes:
        digest: The digest of all that decides what is in it.
        misfit: Why this machine can't build it; empty where it can.
        manifest: Its manifest; None before it is built here.
        archive: Its archive; None before it is built here.
    """

    digest: str
    misfit: str
    manifest: Mapping[str, Any] | None
    archive: Path | None


class WheelBuilder:
    """Builds wheelhouses on this machine. Every method raises SupplyError, and StoppedError when a person stops it."""

    def __init__(self, root: Path, is_stopping: Callable[[], bool] = lambda: False, program: str = OF_NODES) -> None:
        self._root, self._is_stopping, self._program = root, is_stopping, program

    def describe(self, python: str, glibc: str) -> Built:
        """Returns what is known of the wheelhouse for nodes with this Python and this glibc."""
        return _built(self._run(["describe", "--python", python, "--glibc", glibc], DESCRIBE_S))

    def build(self, python: str, glibc: str) -> Built:
        """Builds the wheelhouse, unless this machine has it already."""
        return _built(self._run(["build", "--python", python, "--glibc", glibc], BUILD_S))

    def sources(self, into: Path) -> None:
        """Writes a zip archive with all that a build on another machine needs."""
        self._run(["sources", "--into", str(into)], DESCRIBE_S)

    def _run(self, arguments: list[str], limit_s: float) -> str:
        script = self._root / "requirements" / self._program
        step = f"Correct that, or try it by hand: `.venv/bin/python {script.relative_to(self._root)} build`."
        try:
            ended = run_limited(
                [sys.executable, str(script), *arguments],
                directory=self._root,
                limit_s=limit_s,
                grace_s=GRACE_S,
                is_stopping=self._is_stopping,
            )
        except OSError as error:
            raise SupplyError(f"{script} could not be run: {error.strerror}.", step) from error
        if ended.code and self._is_stopping():
            raise StoppedError("Stopped while the packages of the nodes were built.")
        if ended.was_late:
            raise SupplyError(f"The packages of the nodes were not built within {limit_s:.0f} s.", step)
        if ended.code:
            raise SupplyError(f"The packages of the nodes could not be built:\n  {lines(ended.err, MOST_SAID)}", step)
        return ended.out


def _built(said: str) -> Built:
    document = json.loads(said)
    archive = document["archive"]
    return Built(document["digest"], document["misfit"], document["manifest"], Path(archive) if archive else None)
