"""One process of the controller in the world: it takes the lock, makes numbered calls, and may die."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

from controller.domain import Fleet
from controller.record.environment_lock import take_lock
from tests.faults.simulation.scenarios import Scenario
from tests.unit.controller.harness import Controller
from tests.unit.controller.world import Effect, World
from tests.unit.controller.world.database import WorldDatabase


class Told:
    """A reporter that keeps what is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, at: float, message: str) -> None:
        """Keeps a note."""
        self.lines.append(f"{at - 1_800_000_000.0:7.1f} {message}")

    def moved(self, at: float, move: Any, note: str) -> None:
        """Keeps a step of a move."""
        self.note(at, f"move {move.move_id} {move.phase.value}: {note}")

    def observed(self, *of: Any) -> None:
        """Keeps nothing."""

    def decided(self, decision: Any) -> None:
        """Keeps nothing."""


class Process:
    """One process of the controller. Made anew, it knows only what the journal and the files say.

    Raises:
        LockedError: Another process lives.
    """

    def __init__(self, world: World, root: Path, scenario: Scenario) -> None:
        self.told = Told()
        state_directory = root / ".centavo" / "test"
        self._lock = take_lock(state_directory, "test", "centavo optimize", world.now)
        try:
            self.controller = Controller(world, root, scenario.decider, scenario.settings, self.told)
            self.controller.journal.take_over(self._lock)
        except BaseException:
            self.die()
            raise
        self.world, self.journal = world, self.controller.journal
        self.journal._database = WorldDatabase(world, self.journal._database)  # type: ignore[assignment]
        self._number_capacity_writes()

    def run(self) -> dict[str, Any]:
        """Runs until the training has ended and the fleet is released. Returns the report."""
        return self.controller.optimizer.run()

    def die(self) -> None:
        """Frees what the kernel frees of a process that ends."""
        self._lock.abandon()
        if hasattr(self, "journal"):
            self.journal.close()

    def _number_capacity_writes(self) -> None:
        capacity = self.controller.cluster.capacity
        write = capacity.write

        def numbered(fleet: Fleet) -> None:
            try:
                self.world.call("capacity", Effect(lambda: write(fleet)))
            except OSError as error:
                code = errno.EIO if error.errno is None else error.errno
                with patch("controller.edges.files.os.fsync", side_effect=OSError(code, os.strerror(code))):
                    write(fleet)

        capacity.write = numbered  # type: ignore[method-assign]
