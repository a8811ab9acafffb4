"""A run of the main job, as the campaign sees it: its controller, its journal, and how far it is."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.faults.edges.place import HERE, PRICES_HERE, PRICES_THERE, THERE, Place
from tests.faults.edges.watch import Watch

LIMIT_S = 240.0
"""How long anything may take that is waited for."""
LOCKED, INTERRUPTED = 16, -signal.SIGKILL
AT_REST_LOOKS = 3
NEW_LOOKS, NEW_STEPS_S = 2, 1.5
"""What an effect needs to be seen: looks of the controller, and a time in which a rank that died makes no step."""


class LateError(Exception):
    """Something that was waited for did not come."""


class Run:
    """One run, with one controller at a time.

    Attributes:
        wants_there: Whether the prices are such that the run has to be at the other fleet.
        lacks_capacity: Whether EC2 had too few nodes of a flavor. The controller asks for fewer of them for two hours,
            so the run may come to another fleet.
        crashes: What controllers ended with that should have gone on.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.wants_there = False
        self.lacks_capacity = False
        self.crashes: list[str] = []
        self.outputs: list[Path] = []
        self._is_expected_to_end = False
        place.set_prices(PRICES_HERE)
        place.let_train()
        self._known = set(self._folders())
        self.watch = Watch(place, dict(PRICES_HERE))
        self.controller = self.start_controller()

    # the controller

    def start_controller(self) -> subprocess.Popen[str]:
        """Starts a controller. What it says goes to a file."""
        path = self.place.root / f"controller-{time.monotonic_ns()}.log"
        self.outputs.append(path)
        with open(path, "w") as output:
            self.controller = self.place.start("optimize", output)
        return self.controller

    def kill_controller(self) -> None:
        """Kills the controller with -9, and nothing else: what it has started goes on."""
        self.controller.kill()
        self.controller.wait()

    def restart_controller(self) -> None:
        """Kills the controller, and starts another one."""
        self.kill_controller()
        self.start_controller()

    def end_training(self) -> None:
        """Lets the training end by itself."""
        self._is_expected_to_end = True
        self.place.end_file(self.place.head().id).touch()

    def look_after_controller(self) -> None:
        """Notes a controller that has ended without being told to, and starts another one, as a person would."""
        code = self.controller.poll()
        if code is None or self.has_ended():
            return
        said = self.outputs[-1].read_text()[-700:]
        self.crashes.append(f"the controller ended with {code}: {said}")
        if len(self.crashes) > 3:
            raise LateError("the controller ended again and again")
        self.start_controller()

    # what is seen

    @property
    def folder(self) -> Path | None:
        """The run's folder, once it is there."""
        return next(iter(sorted(set(self._folders()) - self._known, reverse=True)), None)

    def has_ended(self) -> bool:
        """Returns whether the journal says that the run is over."""
        return self.value("stage") == "ended"

    def value(self, key: str) -> str:
        """Returns a value of the journal's table `run`, empty where there is none."""
        rows = self._rows("SELECT value FROM run WHERE key = ?", key)
        return str(rows[0][0]) if rows else ""

    def move(self) -> tuple[int, str]:
        """Returns the number and the phase of the last move; 0 and nothing where there was none."""
        rows = self._rows("SELECT move_id, phase FROM moves ORDER BY move_id DESC LIMIT 1")
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")

    def is_moving(self) -> bool:
        """Returns whether a move is under way."""
        return self.move()[1] in ("proposed", "growing", "joining", "shrinking")

    def observations(self) -> int:
        """Returns how many looks the journal knows of."""
        rows = self._rows("SELECT max(id) FROM summaries")
        return int(rows[0][0] or 0) if rows else 0

    def report(self) -> dict[str, Any]:
        """Returns the report of the run."""
        assert self.folder is not None
        return dict(json.loads((self.folder / "report.json").read_text()))

    def playbooks(self, name: str) -> int:
        """Returns how often a playbook was begun in this run."""
        return 0 if self.folder is None else len(list(self.folder.glob(f"ansible/artifacts/*-{name}")))

    def disagreements(self) -> list[str]:
        """Returns what does not agree with the fleet that is wanted; nothing where all is at rest."""
        wanted = self._wanted()
        workers = self.place.workers()
        fleet: dict[str, int] = {}
        for worker in workers:
            fleet[worker.flavor] = fleet.get(worker.flavor, 0) + 1
        stepped_at, ranks = self.watch.world()
        addresses, hosts = {worker.address for worker in workers}, self.watch.hosts()
        asked = self._asked()
        found = [f"the move is {self.move()[1]}"] if self.is_moving() else []
        found += [f"{fleet} run, and {wanted} are wanted"] if fleet != wanted else []
        found += [f"{sorted(ranks)} train, and {sorted(addresses)} run"] if ranks != addresses else []
        found += [f"the hosts file names {sorted(hosts)}, and {sorted(addresses)} run"] if hosts != addresses else []
        found += ["no step is made"] if time.time() - stepped_at > 2.0 else []
        found += [f"the capacity file asks for {asked}"] if asked != wanted else []
        found += [f"the groups are set to {self.place.desired()}"] if self.place.desired() != wanted else []
        return found

    def capacity(self) -> dict[str, int]:
        """Returns what the capacity file asks for."""
        path = self.place.sandbox.environment / "capacity.auto.tfvars.json"
        try:
            return dict(json.loads(path.read_text())["capacity"])
        except (OSError, ValueError, KeyError):
            return {}

    def _asked(self) -> dict[str, int]:
        """Returns what the capacity file asks for, without zeros."""
        return {flavor: n for flavor, n in self.capacity().items() if n}

    def _wanted(self) -> dict[str, int]:
        """Returns the fleet that the run has to come to: the cheapest one, or any whole one where capacity lacks."""
        asked = self._asked()
        if self.lacks_capacity and sum(asked.values()) == sum(HERE.values()):
            return asked
        return dict(THERE if self.wants_there else HERE)

    # waiting

    def wait_for(self, condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
        """Waits. Raises LateError with what was waited for."""
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                raise LateError(f"not within {limit_s:.0f} s: {what}")
            self.look_after_controller()
            time.sleep(0.1)

    def wait_for_rest(self, limit_s: float = LIMIT_S) -> None:
        """Waits until the wanted fleet trains, and everything agrees with it, in looks and steps that are new."""
        deadline, quiet, looks, began = time.monotonic() + limit_s, 0, self.observations(), time.time()
        while quiet < AT_REST_LOOKS:
            try:
                found = self.disagreements()
                found += ["the controller has not looked"] if self.observations() < looks + NEW_LOOKS else []
                found += ["no step is made"] if self.watch.world()[0] < began + NEW_STEPS_S else []
            except (OSError, StopIteration) as error:
                found = [f"localcloud does not answer: {error}"]
            quiet = 0 if found else quiet + 1
            if time.monotonic() > deadline:
                raise LateError(f"no rest within {limit_s:.0f} s: {'; '.join(found)}")
            self.look_after_controller()
            time.sleep(0.3)

    def wait_for_end(self, limit_s: float = LIMIT_S) -> int:
        """Waits until the controller has ended the run. Returns its exit code."""
        self.wait_for(lambda: self.has_ended() and self.controller.poll() is not None, "the end of the run", limit_s)
        return int(self.controller.returncode)

    def turn_prices(self) -> None:
        """Makes the other fleet the cheaper one."""
        self.wants_there = not self.wants_there
        prices = PRICES_THERE if self.wants_there else PRICES_HERE
        self.watch.prices = dict(prices)
        self.place.set_prices(prices)

    def close(self) -> None:
        """Ends the controller and the watch."""
        if self.controller.poll() is None:
            os.killpg(self.controller.pid, signal.SIGKILL)
            self.controller.wait()
        self.watch.stop()

    def _folders(self) -> list[Path]:
        return [path for path in (self.place.sandbox.root / "runs").glob("2*") if not path.is_symlink()]

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Returns rows of the journal; none while there is no journal or it is being written."""
        folder = self.folder
        if folder is None:
            return []
        try:
            with closing(sqlite3.connect(f"file:{folder / 'journal.sqlite'}?mode=ro", uri=True)) as journal:
                return list(journal.execute(query, values))
        except sqlite3.Error:
            return []
