"""The command `centavo`. Exit codes: 0 done; 1 to 13 what `controller.errors` says of each; 130 stopped by a person.

`centavo review` (or `plan`) ends with 0 when nothing would change, 2 when something would, 3 when the guard refuses it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from controller.act.capacity import CapacityFile
from controller.assembly import Workshop, check_policy, open_workshop, take_up_terraform_rc
from controller.clock import SystemClock
from controller.decide import POLICIES
from controller.decide.explain import render_explanation
from controller.domain import Fleet, Observation
from controller.errors import CentavoError, JournalError, StoppedError
from controller.loop import at_once, keep_speeds
from controller.observe.progress import read_progress
from controller.promises import in_words, parse_asked
from controller.record import codec
from controller.record.cli import add_looking, add_telling_options, print_reports, telling, write_reports
from controller.record.events import PlainReporter, describe
from controller.record.journal import Journal, Stage
from controller.record.runs import latest_run
from controller.record.table import facts_table
from controller.review.cli import (
    add_apply_options,
    add_proposal_options,
    add_propose,
    add_review,
    admit,
    apply_reviewed,
    pull_request_approval,
)
from controller.simulate.cli import add_parser as add_simulate
from controller.times import iso

Command = Callable[[Workshop, argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code. Errors that a person can do something about are told without a traceback."""
    options = parser().parse_args(arguments)
    if "standalone" in options:  # needs no environment
        code: int = options.standalone(options)
        return code
    clock = SystemClock()
    try:
        with clock.listening():
            workshop = open_workshop(Path(options.root), options.env, PlainReporter(), clock)
            workshop.admit = partial(admit, workshop)
            command: Command = options.command
            return command(workshop, options)
    except CentavoError as error:
        print(_told(error, clock), file=sys.stderr)
        return StoppedError.exit_code if clock.is_stopping() else error.exit_code
    except KeyboardInterrupt:
        print(_HOW_TO_GO_ON, file=sys.stderr)
        return StoppedError.exit_code


_HOW_TO_GO_ON = (
    "centavo: stopped. The fleet stays as it is, and a training that runs goes on (and costs money).\n"
    "  `centavo optimize` (make optimize) carries on; `centavo destroy` (make destroy) ends it all."
)


def _told(error: CentavoError, clock: SystemClock) -> str:
    """A person who has stopped a command is not told of the failures that stopping caused."""
    return _HOW_TO_GO_ON if clock.is_stopping() else f"centavo: {error}"


class CommandLine(argparse.ArgumentParser):
    """Wrong usage ends with 1: argparse's own 2 is `review`'s word for "something changes"."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    result = CommandLine(
        prog="centavo", description="Trains on the cheapest EC2 fleet, and moves the training there while it runs."
    )
    result.add_argument(
        "--env",
        default=os.environ.get("ENV", "local"),
        help="the environment under terraform/environments (default: $ENV, else local)",
    )
    result.add_argument("--root", default=".", help="the root of the repository (default: the current directory)")
    commands = result.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_apply_options(_add(commands, "apply", apply, "make what Terraform declares, and wait until it runs"))
    _add(commands, "configure", configure, "prepare the nodes with Ansible; a second time changes nothing")
    _add(commands, "train", train, "prepare the nodes and start the training, without optimising")
    _add_optimize(commands)
    add_review(commands)
    add_propose(commands)
    for name, function, purpose in (
        ("status", status, "the fleet, the training and the costs at a glance"),
        ("facts", facts, "what every node says of itself"),
        ("explain", explain, "the last decision and its evidence"),
    ):
        _add(commands, name, function, purpose).add_argument("--json", action="store_true", help="as JSON")
    add_looking(partial(_add, commands))
    add_simulate(commands)
    _add(commands, "destroy", destroy, "end the training and remove everything that Terraform made")
    return result


def _add(commands: Any, name: str, function: Command, purpose: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(name, help=purpose, description=f"{name}: {purpose}.")
    added.set_defaults(command=function)
    return added


def _add_optimize(commands: Any) -> None:
    added = _add(
        commands,
        "optimize",
        optimize,
        "the main job: train, and move the training to the cheapest fleet; carries on an unfinished run",
    )
    added.add_argument("--policy", help=f"how to decide: {', '.join(POLICIES)} (default: centavo.yml's)")
    added.add_argument("--interval", type=float, metavar="SECONDS", help="between two looks (default: centavo.yml's)")
    added.add_argument(
        "--deadline",
        metavar="DEADLINE",
        help="when the training shall be done: 90s, 10m or 2h30m from the run's start on, or 2026-11-21T18:00:00Z; "
        "an unfinished run keeps its own until another is given (default: centavo.yml's)",
    )
    added.add_argument(
        "--budget",
        metavar="USD",
        help="what the whole training may cost, in US dollars, what has been spent included; kept as the deadline is "
        "(default: centavo.yml's)",
    )
    added.add_argument(
        "--via",
        choices=["controller", "pull-request"],
        default="controller",
        help="who says when: the controller (the default), or people, by merging its proposal",
    )
    add_proposal_options(added)
    add_telling_options(added)


def apply(workshop: Workshop, options: argparse.Namespace) -> int:
    """Makes the environment and waits until its nodes answer; with a reviewed plan, exactly that."""
    if options.plan is not None:
        return apply_reviewed(workshop, options)
    journal = workshop.journal()
    cluster = workshop.cluster(journal)
    began = workshop.clock.now()
    workshop.bring_up(cluster, journal)
    workers = cluster.wait_until_running(cluster.capacity.last, began)
    cluster.note_cost()
    print(
        f"{workshop.environment.name} is up: the head {cluster.head().instance_id}, and {len(workers)} workers "
        f"({cluster.capacity.last})."
    )
    return 0


def configure(workshop: Workshop, options: argparse.Namespace) -> int:
    """Prepares head and workers."""
    outcome = workshop.cluster(workshop.journal()).configure_all()
    print(f"The nodes are prepared (changed={outcome.changed}).")
    return 0


def train(workshop: Workshop, options: argparse.Namespace) -> int:
    """Prepares the nodes and starts the training on all of them."""
    journal = workshop.journal()
    cluster = workshop.cluster(journal)
    cluster.configure_all()
    cluster.set_hosts([i for i in cluster.workers() if i.is_running])
    cluster.start_training()
    journal.set_stage(Stage.TRAINING)
    print(f"The training of run {journal.info().run} runs. `centavo facts` shows it, `centavo optimize` steers it.")
    return 0


def optimize(workshop: Workshop, options: argparse.Namespace) -> int:
    """The main job, from the beginning or from where the last one stopped."""
    policy = options.policy or workshop.environment.settings.controller.policy
    check_policy(policy)
    journal = workshop.journal(policy, parse_asked(options.deadline, options.budget))
    info = journal.info()
    promised = "".join(f", {promise}" for promise in in_words(info.promises))
    print(f"Run {info.run}, environment {info.environment}, policy {policy}{promised}: {journal.directory}", flush=True)
    approval = pull_request_approval(workshop, journal, options) if options.via == "pull-request" else None
    try:
        with telling(workshop, journal, options):
            workshop.optimizer(journal, options.interval, approval or at_once).run()
    finally:
        if journal.stage() is Stage.ENDED:
            if approval is not None:
                approval.end()
            print_reports(workshop, journal)
    return 0


def status(workshop: Workshop, options: argparse.Namespace) -> int:
    """Fleet, training and costs."""
    journal = _latest(workshop)
    terraform = workshop.terraform()
    is_up = terraform.outputs() is not None
    observation = workshop.cluster(journal).look() if is_up and journal.stage() is not Stage.ENDED else None
    document = _status(workshop, journal, observation, is_up)
    if options.json:
        print(json.dumps(document, indent=2))
        return 0
    for name, value in document.items():
        if value is None and name in ("deadline_at", "budget_usd"):
            continue
        print(f"{name.replace('_', ' '):>22}  {_human(value)}")
    return 0


def _status(workshop: Workshop, journal: Journal, observation: Observation | None, is_up: bool) -> dict[str, Any]:
    info, now = journal.info(), workshop.clock.now()
    document: dict[str, Any] = {
        "environment": workshop.environment.name,
        "is_up": is_up,
        "run": info.run,
        "policy": info.policy,
        "stage": journal.stage().value,
        "status": journal.status(),
        "started_at": iso(info.started_at),
        "deadline_at": None if info.promises.deadline_at is None else iso(info.promises.deadline_at),
        "budget_usd": info.promises.budget_usd,
        "spent_usd": round(journal.spent_usd(journal.ended_at() or now), 6),
        "moves": [f"{move.source} -> {move.target}: {move.phase.value}" for move in journal.moves()],
    }
    if observation is not None:
        progress = read_progress(observation, info.started_at)
        document |= {
            "fleet": dict(observation.fleet),
            "usd_per_hour": observation.fleet.usd_per_hour(workshop.usd_per_hour),
            "step": progress.step if progress else None,
            "total_steps": progress.total_steps if progress else None,
            "summary": describe(observation, progress, document["spent_usd"]),
        }
    return document


def facts(workshop: Workshop, options: argparse.Namespace) -> int:
    """Every node's iteration fact, or why it is unknown."""
    observation = workshop.cluster(_latest(workshop)).look()
    if options.json:
        print(json.dumps(codec.plain(observation), indent=2))
    else:
        Console().print(facts_table(observation))
    return 0


def explain(workshop: Workshop, options: argparse.Namespace) -> int:
    """The last decision, and what was promised of its run."""
    journal = _latest(workshop)
    decision = journal.last_decision()
    if decision is None:
        raise JournalError("Nothing has been decided yet.", "`centavo optimize` decides as soon as facts come in.")
    if options.json:
        print(json.dumps(codec.plain(decision), indent=2))
        return 0
    print(render_explanation(decision), end="")
    for promise in in_words(journal.info().promises):
        print(promise)
    return 0


def destroy(workshop: Workshop, options: argparse.Namespace) -> int:
    """Removes everything, and ends the run that was under way."""
    terraform = workshop.terraform()
    terraform.init()
    take_up_terraform_rc(workshop.environment)
    journal = latest_run(workshop.environment.runs_directory)
    if journal is not None:
        _lift_protection(workshop, journal)
    made = terraform.plan(workshop.environment.state_directory / "destroy.tfplan", destroy=True, read=False)
    if made.has_changes:
        terraform.apply(made.file)
    _end_destroyed(workshop, journal)
    print(f"{workshop.environment.name} is down; nothing of it is left." if made.has_changes else "Nothing was up.")
    return 0


def _lift_protection(workshop: Workshop, journal: Journal) -> None:
    """Lets the groups end their instances; an environment that is half made or half gone has nothing to lift."""
    cluster = workshop.cluster(journal)
    try:
        cluster.lift_protection(cluster.workers())
    except CentavoError as error:
        workshop.reporter.note(workshop.clock.now(), f"the nodes' protection was not lifted: {error.what}")


def _end_destroyed(workshop: Workshop, journal: Journal | None) -> None:
    """The next run starts on the initial fleet, and this one is over."""
    capacity = CapacityFile(workshop.environment.capacity_file)
    if capacity.exists():
        capacity.write(Fleet(dict.fromkeys(capacity.read(), 0)))
    if journal is None or journal.info().environment != workshop.environment.name or journal.stage() is Stage.ENDED:
        return
    now = workshop.clock.now()
    if journal.status() == "running":
        journal.end("interrupted", "the environment was destroyed", now)
        keep_speeds(workshop.environment, journal)
    journal.set_stage(Stage.ENDED)
    write_reports(workshop, journal)


def _latest(workshop: Workshop) -> Journal:
    journal = latest_run(workshop.environment.runs_directory)
    if journal is None:
        raise JournalError("There is no run yet.", "`centavo optimize` starts one.")
    return journal


def _human(value: Any) -> str:
    if isinstance(value, dict):
        return str(Fleet(value))
    if isinstance(value, list):
        return "; ".join(str(part) for part in value) or "none"
    return "not known" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
