"""The nine invariants of the campaign, as far as the simulated world can show them.

Each returns what was seen against it, in words; nothing where it holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from controller.domain import Fleet
from controller.domain.errors import DiskError, LockedError, SupersededError, TrainingFailedError
from tests.faults.simulation.events import LOSES_ALL, MAY_END_EARLY, STANDS_STILL, Event
from tests.faults.simulation.points import CallFault
from tests.faults.simulation.second import FIRST, SECOND, SecondController
from tests.faults.simulation.trial import Planned, Trial
from tests.unit.controller.world import iso

MOST_STUCK_PASSES = 3
EFFECTS = (
    "capacity",
    "apply",
    "protection",
    "empty",
    "end",
    "reboot",
    "site.yml",
    "hosts.yml",
    "start.yml",
    "stop.yml",
)
"""Calls that change something outside of the journal."""
STEPS_A_TICK = 10
METERING_SLACK_S = 60.0
"""What the journal may miss of the costs: the time to the first look, and one pass at each change."""


def no_instance_ends_while_it_trains(trial: Trial) -> Iterator[str]:
    """Checks invariant 1. The world notices it at once, and with it a capacity that is lowered too early."""
    yield from (what for what in trial.world.violations if "hosts file" not in what)


def the_hosts_file_names_a_holder_of_the_state(trial: Trial) -> Iterator[str]:
    """Checks invariant 2. The world notices it at every writing of the hosts file."""
    yield from (what for what in trial.world.violations if "hosts file" in what)


def every_fault_heals_or_the_run_ends(trial: Trial) -> Iterator[str]:
    """Checks invariant 3."""
    if trial.watch.stuck_passes > MOST_STUCK_PASSES:
        yield f"{trial.watch.stuck_passes} passes in a row changed nothing: {trial.watch.stuck_on}"
    if trial.is_endless:
        yield f"the run did not end until {iso(trial.world.now)}: step {trial.world.step:.0f}, {trial.watch.stuck_on}"
    elif trial.report is None and not trial.fault_of_program and not _only_the_disk_fails(trial):
        yield f"{trial.lives} processes did not bring the run to its end"
    for error, workers in trial.left:
        is_end = isinstance(error, (TrainingFailedError, LockedError, SupersededError))
        if workers and not is_end:
            yield f"the controller left {workers} workers running: {type(error).__name__}: {error.what}"
    if trial.report is not None and trial.report["status"] != "finished" and not _may_end_early(trial):
        yield f"the training is {trial.report['status']}"


def finally_no_worker_runs(trial: Trial) -> Iterator[str]:
    """Checks invariant 4, as far as a controller is started again. Without any, it needs a lease on the nodes."""
    if trial.world.nodes and not (trial.is_endless or trial.fault_of_program):
        yield f"{trial.world.fleet()} still run"


def the_cost_is_bounded_and_metered(trial: Trial) -> Iterator[str]:
    """Checks invariant 5: nothing beyond both fleets was asked for, and the journal's costs are those of the world.

    One process measures time by a clock that nobody sets. From one process to the next there is only the time of day.
    So the journal counts what that was set by meanwhile.
    """
    for asked in trial.world.capacities:
        beyond = Fleet(asked).beyond(trial.scenario.most)
        if beyond.size:
            yield f"the groups were asked for {Fleet(asked)}, which is {beyond} more than the move needs"
    unmeasured_s = abs(trial.world.wall_ahead_s) if trial.lives > 1 else 0.0
    slack_usd = (METERING_SLACK_S + trial.trouble_s + unmeasured_s) * trial.world.most_spent_usd_per_hour / 3600.0
    difference = abs(trial.spent_usd - trial.world.spent_usd)
    if trial.report is not None and difference > slack_usd:
        yield f"the journal says ${trial.spent_usd:.4f}, the world's meter ${trial.world.spent_usd:.4f}"


def steps_lost_stay_within_the_commit_interval(trial: Trial) -> Iterator[str]:
    """Checks invariant 6: where all ranks go, the interval is that of the checkpoints.

    That all ranks have the same parameters is shown by real trainings.
    """
    world = trial.world
    is_stored = not any(_spoils(planned, "s3") for planned in trial.planned)
    for at, why, steps in world.incidents:
        is_total = why == "all ranks were lost"
        most = world.checkpoint_steps + STEPS_A_TICK if is_total else world.commit_steps
        if is_total and not _all_may_be_lost(trial):
            yield f"{steps:.1f} steps since the last checkpoint were lost at {iso(at)} although a rank was left"
        if steps > most and (is_stored or not is_total):
            yield f"{steps:.1f} steps were lost at {iso(at)}: {why}"


def everything_agrees_at_rest(trial: Trial) -> Iterator[str]:
    """Checks invariant 7: journal, hosts file, groups and state agree when nothing is left to do."""
    yield from trial.watch.disagreements
    if trial.report is None:
        return
    if trial.stage != "ended" or trial.is_moving:
        yield f"the run has ended, and its journal says {trial.stage}" + (", in a move" if trial.is_moving else "")
    asked = json.loads(trial.capacity_file.read_text())["capacity"] if trial.capacity_file.is_file() else {}
    if any(asked.values()) or any(trial.world.desired.values()):
        yield f"at the end the capacity file asks for {asked}, and the groups for {trial.world.desired}"


def at_most_one_writer(trial: Trial) -> Iterator[str]:
    """Checks invariant 8: once a second controller has changed anything, the first one changes nothing more."""
    changes = [who for who, what in zip(trial.world.callers, trial.world.calls, strict=True) if what in EFFECTS]
    if SECOND in changes and FIRST in changes[changes.index(SECOND) :]:
        yield f"two controllers changed things in turn: {changes.count(FIRST)} and {changes.count(SECOND)} times"
    for planned in trial.planned:
        if isinstance(planned, SecondController) and "InvariantError" in planned.ended:
            yield f"the second controller: {planned.ended}"


def no_traceback(trial: Trial) -> Iterator[str]:
    """Checks invariant 9: no error but those that are for people, and no hostile text in what is done."""
    if trial.fault_of_program:
        yield trial.fault_of_program


INVARIANTS: tuple[Callable[[Trial], Iterator[str]], ...] = (
    no_instance_ends_while_it_trains,
    the_hosts_file_names_a_holder_of_the_state,
    every_fault_heals_or_the_run_ends,
    finally_no_worker_runs,
    the_cost_is_bounded_and_metered,
    steps_lost_stay_within_the_commit_interval,
    everything_agrees_at_rest,
    at_most_one_writer,
    no_traceback,
)


def violations_of(trial: Trial) -> tuple[str, ...]:
    """Returns what was seen against any of the nine."""
    return tuple(f"{check.__name__}: {what}" for check in INVARIANTS for what in check(trial))


def _only_the_disk_fails(trial: Trial) -> bool:
    """Returns whether everything was given back, and only the journal can't be written."""
    return not trial.world.nodes and bool(trial.left) and isinstance(trial.left[-1][0], DiskError)


def _may_end_early(trial: Trial) -> bool:
    """Returns whether the run may end without a finished training: nothing was trained yet, or nothing helps."""
    if not trial.world.step:
        return True
    return any(isinstance(planned, Event) and planned.what in MAY_END_EARLY for planned in trial.planned)


def _all_may_be_lost(trial: Trial) -> bool:
    """Returns whether faults may have ended all ranks, or made a restart of the launcher the remedy."""
    known = (*LOSES_ALL, *STANDS_STILL)
    alone = any(isinstance(planned, Event) and planned.what in known for planned in trial.planned)
    return alone or len(trial.planned) > 1


def _spoils(planned: Planned, what: str) -> bool:
    name = planned.call if isinstance(planned, CallFault) else getattr(planned, "what", "")
    return name.startswith(what)
