"""The invariants of the campaign, as far as they can be seen from outside of the controller.

They have the names that they have in the simulation. Each returns what was seen against it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faults.edges.run import Run
from tests.faults.edges.stub.launcher import CHECKPOINT_STEPS

METERING_SLACK_S = 45.0
"""What the journal may miss of the costs in one run: the time to its first look, and a look at each change."""
ANY_ADDRESS = ("00000000", "00000000000000000000000000000000")


def found_so_far(run: Run, since: int) -> list[str]:
    """Returns what was seen since an event of the stub, at any time of a run."""
    events = run.watch.events()[since:]
    return [
        *run.watch.seen,
        *(f"every_fault_heals_or_the_run_ends: {crash}" for crash in run.crashes),
        *_no_instance_ends_while_it_trains(run, events),
        *_steps_lost_stay_within_the_commit_interval(events),
        *_no_traceback(run),
        *_nothing_listens_beyond_loopback(run),
    ]


def found_at_the_end(run: Run, code: int) -> list[str]:
    """Returns what was seen against a run that has ended."""
    return [
        *_finally_no_worker_runs(run, code),
        *_everything_agrees_at_rest(run),
        *_the_cost_is_metered(run),
    ]


def _no_instance_ends_while_it_trains(run: Run, events: list[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        if event["event"] == "ended-in-training" and event["instance"] not in run.watch.struck:
            yield f"no_instance_ends_while_it_trains: {event['instance']} was ended at step {event['step']}"


def _steps_lost_stay_within_the_commit_interval(events: list[dict[str, Any]]) -> Iterator[str]:
    """Checks that no step is lost while a rank is left, and at most a checkpoint's interval otherwise."""
    before = 0
    for event in events:
        if event["event"] == "step":
            lost = before + 1 - event["step"]
            if before and lost > 2 * CHECKPOINT_STEPS:  # one checkpoint may still be on its way
                yield f"steps_lost_stay_within_the_commit_interval: {lost} steps after step {before}"
            before = event["step"]


def _no_traceback(run: Run) -> Iterator[str]:
    for output in run.outputs:
        text = output.read_text()
        if "Traceback" in text:
            yield f"no_traceback: {text[text.index('Traceback') :][:1500]}"
    if run.place.canary.exists():
        yield "no_traceback: a hostile text was executed"


def _nothing_listens_beyond_loopback(run: Run) -> Iterator[str]:
    """Checks the TCP sockets that processes of the place listen on (proc(5))."""
    listening = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[1].rpartition(":")
            if fields[3] == "0A" and address in ANY_ADDRESS:
                listening[fields[9]] = int(port, 16)
    if listening:
        for inode in run.place.sockets():
            if inode in listening:
                yield f"no_traceback: a process of the run listens on all addresses, port {listening[inode]}"


def _finally_no_worker_runs(run: Run, code: int) -> Iterator[str]:
    if code != 0:
        yield f"every_fault_heals_or_the_run_ends: the last controller ended with {code}: {_last_words(run)}"
    status = run.report()["status"]
    if status != "finished":
        yield f"every_fault_heals_or_the_run_ends: the training is {status}"
    workers = run.place.workers()
    if workers:
        yield f"finally_no_worker_runs: {[worker.id for worker in workers]} still run"


def _everything_agrees_at_rest(run: Run) -> Iterator[str]:
    asked, desired = {f: n for f, n in run.capacity().items() if n}, run.place.desired()
    if asked or desired:
        yield f"everything_agrees_at_rest: the capacity file asks for {asked}, and the groups for {desired}"
    if run.is_moving():
        yield "everything_agrees_at_rest: the run has ended, and its journal says that a move is under way"
    folder = run.place.sandbox.environment
    if (folder / ".terraform.tfstate.lock.info").exists():
        yield "everything_agrees_at_rest: Terraform's state is still locked"
    try:
        json.loads((folder / "terraform.tfstate").read_text())
    except ValueError as error:
        yield f"everything_agrees_at_rest: Terraform's state is torn: {error}"


def _the_cost_is_metered(run: Run) -> Iterator[str]:
    said, paid = float(run.report()["cost"]["spent_usd"]), run.watch.spent_usd
    slack = METERING_SLACK_S * run.watch.dearest_usd_per_hour / 3600.0 + 0.1 * paid
    if abs(said - paid) > slack:
        yield f"the_cost_is_bounded_and_metered: the report says ${said:.4f}, and ${paid:.4f} were paid"


def _last_words(run: Run) -> str:
    return run.outputs[-1].read_text()[-600:]
