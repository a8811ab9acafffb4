"""A run of the controller with faults in it."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.domain.errors import CentavoError, LockedError
from tests.faults.simulation.events import Event
from tests.faults.simulation.points import CallFault
from tests.faults.simulation.process import Process
from tests.faults.simulation.scenarios import Scenario, phase_of
from tests.faults.simulation.second import SecondController
from tests.faults.simulation.watch import EndlessError, Watch
from tests.unit.controller.world import InvariantError, KilledError, Manner, World

RESTART_S = 5.0
AGAIN_S = 30.0
"""After so long a person starts a controller again that ended with an error."""
MOST_LIVES = 8
LONGEST_S = 1500.0
"""A run without faults takes 140 to 170 s of the world's time."""
MEMORY = Path("/dev/shm")

Planned = CallFault | Event | SecondController


@dataclass
class Trial:
    """A run of the controller with faults in it, and what came of it.

    Attributes:
        lives: How many processes the run took.
        left: Errors with which a process ended by itself, and how many workers ran then.
        fault_of_program: The traceback of an error that is no error for people; empty where there was none.
        is_endless: Whether the run had to be stopped.
        report: The report of the run that ended.
    """

    scenario: Scenario
    planned: Sequence[Planned]
    world: World = field(init=False)
    root: Path = field(init=False)
    watch: Watch = field(init=False)
    phases: list[tuple[str, str]] = field(default_factory=list)
    lives: int = 0
    left: list[tuple[CentavoError, int]] = field(default_factory=list)
    fault_of_program: str = ""
    is_endless: bool = False
    report: dict[str, Any] | None = None
    told: list[str] = field(default_factory=list)
    spent_usd: float = 0.0
    stage: str = ""
    is_moving: bool = False
    second: Process | None = None

    def run(self, judge: Callable[[Trial], Any]) -> Any:
        """Runs, and returns what the judge says. What the run has written is there for the judge, and then removed."""
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        try:
            self._prepare()
            self._live()
            return judge(self)
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    @property
    def capacity_file(self) -> Path:
        """The capacity file."""
        return self.root / "terraform/environments/test/capacity.auto.tfvars.json"

    @property
    def has_happened(self) -> bool:
        """Whether all faults have happened."""
        return all(planned.fired_at is not None for planned in self.planned)

    @property
    def trouble_s(self) -> float:
        """How long the faults went on."""
        return sum(planned.until - planned.fired_at for planned in self.planned if planned.fired_at is not None)

    def is_troubled(self) -> bool:
        """Returns whether a fault goes on now."""
        return any(self.world.now < planned.until for planned in self.planned)

    def _prepare(self) -> None:
        self.world = self.scenario.new_world()
        self.world.plots.append(self._note_phase)
        for planned in self.planned:
            self.world.plots.append(_plot(planned, self.world))
            if isinstance(planned, SecondController):
                planned.start = self._run_second
        self.watch = Watch(
            self.world,
            self.capacity_file,
            self.is_troubled,
            self.world.now + LONGEST_S,
            has_begun=lambda: any(planned.fired_at is not None for planned in self.planned),
            has_happened=lambda: self.has_happened,
        )
        self.world.at_each_tick.append(self.watch.tick)

    def _note_phase(self, number: int, name: str) -> None:
        self.phases.append((name, phase_of(self.world)))

    def _live(self) -> None:
        """Lets processes run, one after the other, until the run has ended."""
        while self.report is None and not self.is_endless and not self.fault_of_program and self.lives < MOST_LIVES:
            self.lives += 1
            self._run_process()
        for planned in self.planned:
            if isinstance(planned, SecondController):
                planned.finish()
                self.told.append(f"the second controller: {planned.ended}")

    def _run_process(self) -> None:
        process = None
        try:
            process = Process(self.world, self.root, self.scenario)
            self.report = process.run()
        except EndlessError:
            self.is_endless = True
        except (KilledError, InvariantError) as error:
            self.told.append(f"{type(error).__name__}: {error}")
            self._restart()
        except LockedError:
            self._restart()
        except CentavoError as error:
            self.left.append((error, len(self.world.nodes)))
            if process is not None and process.journal.stage().value == "ended":
                self.report = {"status": process.journal.status()}
            else:
                self._restart(AGAIN_S)
        except Exception:
            self.fault_of_program = traceback.format_exc(limit=-6)
        finally:
            if process is not None:
                self._keep(process)

    def _restart(self, after_s: float = RESTART_S) -> None:
        try:
            self.world.advance(after_s)
        except EndlessError:
            self.is_endless = True

    def _keep(self, process: Process) -> None:
        self.told += process.told.lines
        journal = process.journal
        self.spent_usd, self.stage = journal.spent_usd(), journal.stage().value
        self.is_moving = journal.move_under_way() is not None
        process.die()

    def _run_second(self) -> None:
        second = Process(self.world, self.root, self.scenario)
        try:
            self.report = second.run()
        finally:
            self._keep(second)


def _plot(planned: Planned, world: World) -> Callable[[int, str], Manner | None]:
    return lambda number, name: planned.plot(world, number, name)


def describe(trial: Trial) -> tuple[str, ...]:
    """Returns what was told during the run, for a person."""
    return (*trial.told, f"{trial.lives} processes, {os.linesep.join(trial.world.violations) or 'no violation'}")
