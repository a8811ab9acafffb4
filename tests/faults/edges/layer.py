"""Layer B of the campaign: its faults by name. One cloud serves all of them, and a run goes on from fault to fault."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from tests.faults.edges.invariants import found_at_the_end, found_so_far
from tests.faults.edges.moments import END, OF_A_MOVE, START, reach
from tests.faults.edges.place import Place
from tests.faults.edges.run import LateError, Run
from tests.faults.edges.scripts import SCRIPT, STRIKES
from tests.faults.fault import Fault, Result

NAME = "edges"
PROCESSES = 1


def singles() -> Iterable[Fault]:
    """Returns every single fault of the layer, in an order in which few new runs and moves are needed."""
    return tuple(Fault(name, name.partition("/")[2]) for name in SCRIPT)


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
    return _stage.run(fault)


class Stage:
    """The cloud and the run that the faults of this process share. Both are made when the first fault needs them."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._run: Run | None = None
        self._before = ""
        """The fault that was put into the present run last."""

    def run(self, fault: Fault) -> Result:
        """Runs with a fault. After a violation, cloud and run are given up, so that the next fault begins anew."""
        moment = fault.name.partition("/")[0]
        began, has_happened = time.monotonic(), False
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
        told = self._told()
        if found or moment == END:
            self._end_run()
        if found:
            found = [*found, f"(the fault before it in this run: {self._before or 'none'})", *told]
            self.close()
        self._before = "" if found or moment == END else fault.name
        seconds = time.monotonic() - began
        print(f"{fault.name:<40}{seconds:6.1f} s  {'VIOLATED' if found else 'held'}", file=sys.stderr, flush=True)
        return Result(fault, has_happened, tuple(found), 0, tuple(told))

    def close(self) -> None:
        """Ends everything that the faults have started."""
        self._end_run()
        if self._place is not None:
            self._place.close()
            self._place = None

    def _at(self, moment: str) -> Run:
        """Returns the run that goes on, or a new one."""
        if self._place is None:
            signal.signal(signal.SIGTERM, _exit)
            atexit.register(self.close)
            self._place = Place(Path(tempfile.mkdtemp(prefix="centavo-edges-")))
        if self._run is not None and moment == START and self._before.partition("/")[0] != START:
            self._end_run()
        if self._run is None:
            self._run = Run(self._place)
        return self._run

    def _is_next(self, name: str) -> bool:
        """Returns whether the fault follows the one before in the script, so that both may be in one move."""
        place = SCRIPT.index(name)
        return place > 0 and SCRIPT[place - 1] == self._before

    def _heal(self, run: Run, name: str, moment: str) -> None:
        """Waits until the fault has healed. Where the next one is in the same move, a look and a new phase suffice."""
        if moment == END:
            return
        place = SCRIPT.index(name)
        following = SCRIPT[place + 1] if place + 1 < len(SCRIPT) else ""
        is_chained = place == 0 or SCRIPT[place - 1] == self._before
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


def _exit(number: int, frame: FrameType | None) -> None:
    os.write(2, b"told to end: ending what the faults have started\n")
    sys.exit(128 + number)


_stage = Stage()
