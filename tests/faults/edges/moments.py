"""The moments of a run at which faults strike, and how a run is brought there."""

from __future__ import annotations

import random
import time

from tests.faults.edges.run import LateError, Run

START, TRAIN, GROW, CONFIGURE, JOIN, SHRINK, END = "start", "train", "grow", "configure", "join", "shrink", "end"
OF_A_MOVE = (GROW, CONFIGURE, JOIN, SHRINK)
PHASES = {GROW: "growing", CONFIGURE: "growing", JOIN: "joining", SHRINK: "shrinking"}
LATEST_S = {START: 12.0, GROW: 8.0, CONFIGURE: 4.0, SHRINK: 6.0, END: 4.0}
"""How long after the beginning of a moment a fault strikes, at most. When exactly is drawn by the fault's name."""
TRIES = 3


def reach(run: Run, moment: str, name: str, *, in_the_same_move: bool) -> None:
    """Brings a run to a moment, and lets a time pass that the name of the fault decides.

    Raises:
        LateError: The run did not get there.
    """
    finds_its_moment = name.endswith("-with-terraform")
    delay_s = 0.0 if finds_its_moment else random.Random(name).uniform(0, LATEST_S.get(moment, 0.0))
    if moment in OF_A_MOVE:
        _reach_move(run, moment, in_the_same_move=in_the_same_move)
        deadline = time.monotonic() + delay_s
        run.wait_for(lambda: time.monotonic() > deadline or run.move()[1] != PHASES[moment], "the moment")
        return
    if moment in (TRAIN, END):
        run.wait_for_rest()
    time.sleep(0.0 if moment == END else delay_s)


def _reach_move(run: Run, moment: str, *, in_the_same_move: bool) -> None:
    for _ in range(TRIES):
        if not (in_the_same_move and run.is_moving()):
            run.wait_for_rest()
            before, played = run.move()[0], run.playbooks("site")
            run.turn_prices()
        else:
            before, played = run.move()[0] - 1, run.playbooks("site")
        if _wait(run, moment, before, played):
            return
        in_the_same_move = False
    raise LateError(f"no move was seen in its moment {moment}")


def _wait(run: Run, moment: str, before: int, played: int) -> bool:
    """Waits for the moment in the move after `before`. Returns False where the move got past it."""
    order = ("", "proposed", "growing", "joining", "shrinking")

    def place() -> int:
        number, phase = run.move()
        return 0 if number <= before else order.index(phase) if phase in order else len(order)

    wanted = order.index(PHASES[moment])

    def is_there() -> bool:
        is_configured = moment != CONFIGURE or run.playbooks("site") > played
        return place() > wanted or (place() == wanted and is_configured)

    run.wait_for(is_there, f"the moment {moment}")
    return place() == wanted
