"""Layer A of the campaign: its faults by name, and one run for each."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import cache

from tests.faults.fault import Fault, Result
from tests.faults.simulation.events import EVENTS, SECOND_CONTROLLER, Event
from tests.faults.simulation.invariants import violations_of
from tests.faults.simulation.points import CallFault, call_faults
from tests.faults.simulation.scenarios import SCENARIOS
from tests.faults.simulation.second import SecondController
from tests.faults.simulation.trial import Planned, Trial, describe

NAME = "simulated"
PROCESSES = 2
LANE = 8
"""So many faults at once are given to a process."""
AND = " + "


@cache
def singles() -> tuple[Fault, ...]:
    """Returns every single fault of the layer."""
    names: list[str] = []
    for scenario in SCENARIOS.values():
        calls = Trial(scenario, ()).run(lambda trial: trial.phases)
        names += call_faults(scenario, calls)
        phases = dict.fromkeys(phase for _, phase in calls if phase in scenario.phases)
        names += [f"{scenario.name}/{phase}/{what}" for phase in phases for what in (*EVENTS, SECOND_CONTROLLER)]
    return tuple(Fault(name, kind_of(name)) for name in names)


def lanes(faults: Sequence[Fault]) -> Iterable[Sequence[Fault]]:
    """Returns the faults in small groups, for the processes to take."""
    return [faults[first : first + LANE] for first in range(0, len(faults), LANE)]


def pair(seed: int) -> Fault:
    """Returns two faults of one scenario, drawn at random."""
    drawn = random.Random(seed)
    scenario = drawn.choice(sorted(SCENARIOS))
    names = [fault.name for fault in singles() if fault.name.startswith(f"{scenario}/")]
    both = sorted(drawn.sample([name for name in names if SECOND_CONTROLLER not in name], 2))
    return Fault(AND.join(both), "pair", seed)


def run(fault: Fault) -> Result:
    """Runs with a fault, and checks the invariants."""
    names = fault.name.split(AND)
    scenario = SCENARIOS[names[0].split("/")[0]]

    def judge(trial: Trial) -> Result:
        found = violations_of(trial)
        return Result(fault, trial.has_happened, found, trial.watch.heal_passes, describe(trial))

    result: Result = Trial(scenario, [planned_of(name) for name in names]).run(judge)
    return result


def smaller(fault: Fault) -> Iterable[Fault]:
    """Returns the single faults of a pair."""
    names = fault.name.split(AND)
    return () if len(names) == 1 else tuple(Fault(name, kind_of(name)) for name in names)


def planned_of(name: str) -> Planned:
    """Returns what a single fault's name says. Raises LookupError for a name that says nothing."""
    try:
        _, where, what = name.split("/")
        if what == SECOND_CONTROLLER:
            return SecondController(where)
        if what in EVENTS:
            return Event(what, where)
        call, number = where.rsplit("-", 1)
        return CallFault(call, int(number), what)
    except ValueError as error:
        raise LookupError(f"there is no fault {name!r}") from error


def kind_of(name: str) -> str:
    """Returns the row of the table that a single fault is counted in."""
    _, where, what = name.split("/")
    if what in EVENTS or what == SECOND_CONTROLLER:
        return what
    return f"{where.rsplit('-', 1)[0]} {what}"
