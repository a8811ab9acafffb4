"""Layer B of the campaign: its faults by name. Each script has one cloud, and a run goes on from fault to fault."""

from __future__ import annotations

import atexit
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.faults.edges.invariants import found_at_the_end, found_so_far
from tests.faults.edges.moments import END, OF_A_MOVE, START, reach
from tests.faults.edges.place import Place
from tests.faults.edges.run import LateError, Run
from tests.faults.edges.scripts import SCRIPTS, STRIKES
from tests.faults.fault import Fault, Result

NAME = "edges"
PROCESSES = 1


def singles() -> Iterable[Fault]:
    """Returns every single fault of the layer, in an order in which few new runs and moves are needed."""
    return tuple(Fault(name, name.partition("/")[2]) for name in STRIKES)


def lanes(faults: Sequence[Fault]) -> Iterable[Sequence[Fault]]:
    """Returns the faults script by script: the scripts may run side by side."""
    for script in SCRIPTS:
        yield [fault for fault in faults if fault.name in script]


def pair(seed: int) -> Fault | None:
    """Returns None: the layer draws no faults."""
    return None


def smaller(fault: Fault) -> Iterable[Fault]:
    """Returns nothing: a single fault can't be shrunk."""
    return ()


def run(fault: Fault) -> Result:
    """Runs with a fault, and checks the invariants.

    Raises:
        LookupError: The layer has no such fault.
    """
    if fault.name not in STRIKES:
        raise LookupError(f"the layer {NAME} has no fault {fault.name}")
    return next(stage for stage in _stages if fault.name in stage.script).run(fault)


class Stage:
    """The cloud and the run that the faults of a script share. Both are made when the first fault needs them."""

    def __init__(self, script: Sequence[str]) -> None:
        self.script = script
        self._making = threading.Lock()
        self._is_over = False
        self._place: Place | None = None
        self._run: Run | None = None
        self._before = ""
        """The fault that was put into the present run last."""

    def run(self, fault: Fault) -> Result:
        """Runs with a fault. After a violation, cloud and run are given up, so that the next fault begins anew."""
        moment = fault.name.partition("/")[0]
        has_happened = False
        try:
            run = self._at(moment)
            is_next = self._is_next(fault.name)
            since = len(run.watch.events())
            reach(run, moment, fault.name, in_the_same_move=is_next)
            has_happened = True
            STRIKES[fault.name](run)
            self._heal(run, fault.name, moment)
            found = found_so_far(run, since)
            if moment == END:
                found += found_at_the_end(run, run.wait_for_end())
        except LateError as error:
            found = [str(error) if ":" in str(error).split()[0] else f"every_fault_heals_or_the_run_ends: {error}"]
            found += found_so_far(self._run, 0) if self._run is not None else []
        except Exception:  # of the campaign itself; the next faults begin anew
            found = [f"the campaign failed: {traceback.format_exc()}"]
        told = self._told()
        if found or moment == END:
            self._end_run()
        if found:
            told = [f"the fault before it in this run: {self._before or 'none'}", *told]
        if found or fault.name == self.script[-1]:
            self.close()
        self._before = "" if found or moment == END else fault.name
        return Result(fault, has_happened, tuple(found), 0, tuple(told))

    def close(self) -> None:
        """Ends everything that the faults have started."""
        self._end_run()
        if self._place is not None:
            self._place.close()
            self._place = None

    def close_for_good(self) -> None:
        """Ends everything, and lets nothing be started any more: the campaign ends, perhaps in the middle."""
        with self._making:
            self._is_over = True
            self.close()

    def _at(self, moment: str) -> Run:
        """Returns the run that goes on, or a new one."""
        with self._making:
            if self._is_over:
                sys.exit(1)
            if self._run is not None and self._needs_another(self._run, moment):
                self.close()  # in this cloud, the next controller would carry on the same run
            if self._place is None:
                self._place = Place(Path(tempfile.mkdtemp(prefix="centavo-edges-")))
            if self._run is None:
                self._run = Run(self._place)
            return self._run

    def _needs_another(self, run: Run, moment: str) -> bool:
        """Returns whether the moment does not come in this run any more."""
        if moment == START:
            return self._before.partition("/")[0] != START
        return run.lacks_capacity and moment in OF_A_MOVE

    def _is_next(self, name: str) -> bool:
        """Returns whether the fault follows the one before in the script, so that both may be in one move."""
        place = self.script.index(name)
        return place > 0 and self.script[place - 1] == self._before

    def _heal(self, run: Run, name: str, moment: str) -> None:
        """Waits until the fault has healed. Where the next one is in the same move, a look and a new phase suffice."""
        if moment == END:
            return
        place = self.script.index(name)
        following = self.script[place + 1] if place + 1 < len(self.script) else ""
        is_chained = place == 0 or self.script[place - 1] == self._before
        if is_chained and moment in OF_A_MOVE and following.partition("/")[0] in _LATER.get(moment, ()):
            looks = run.observations()
            run.wait_for(lambda: run.observations() > looks or not run.is_moving(), "the next look")
            return
        run.wait_for_rest()

    def _end_run(self) -> None:
        if self._run is not None:
            self._run.close()
            self._run = None
        self._before = ""

    def _told(self) -> list[str]:
        """Returns what the last controllers said."""
        if self._run is None:
            return []
        return [line for output in self._run.outputs[-2:] for line in output.read_text().splitlines()[-14:]]


_LATER = {moment: OF_A_MOVE[place + 1 :] for place, moment in enumerate(OF_A_MOVE)}


_stages = tuple(Stage(script) for script in SCRIPTS)
for _stage in _stages:
    atexit.register(_stage.close_for_good)
