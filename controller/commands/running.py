"""The commands that do something: apply, configure, train, optimize, destroy."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from controller.act.capacity import CapacityFile
from controller.commands.context import Context
from controller.commands.exports import export_terraform_rc
from controller.commands.reviewing import (
    add_apply_options,
    add_proposal_options,
    apply_reviewed,
    pull_request_approval,
)
from controller.commands.telling import (
    add_telling_options,
    check_telling_options,
    print_reports,
    telling,
    write_reports,
)
from controller.config.constraints import in_words, parse_asked
from controller.decide import POLICIES
from controller.domain import Fleet
from controller.domain.errors import CentavoError
from controller.loop import at_once, keep_speeds, wait_until_up
from controller.loop.decide_settings import check_policy
from controller.record.journal.journal import Journal, Stage
from controller.record.journal.runs import latest_run

Add = Callable[..., argparse.ArgumentParser]


def add_running(add: Add) -> None:
    """The commands from `apply` to `optimize`; `add` makes a command."""
    add_apply_options(add("apply", apply, "make what Terraform declares, and wait until it runs"))
    add("configure", configure, "prepare the nodes with Ansible; a second time changes nothing")
    add("train", train, "prepare the nodes and start the training, without optimising")
    _add_optimize(add)


def add_destroy(add: Add) -> None:
    """The command `destroy`."""
    add("destroy", destroy, "end the training and remove everything that Terraform made")


def _add_optimize(add: Add) -> None:
    added = add(
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


def apply(context: Context, options: argparse.Namespace) -> int:
    """Makes the environment and waits until its nodes answer; with a reviewed plan, exactly that."""
    if options.plan is not None:
        return apply_reviewed(context, options)
    journal = context.journal()
    cluster = context.cluster(journal)
    began = context.clock.now()
    context.bring_up(cluster, journal)
    settings = context.environment.settings.controller
    workers = wait_until_up(cluster, context.clock, settings, cluster.capacity.last, began)
    cluster.note_cost()
    print(
        f"{context.environment.name} is up: the head {cluster.instances.head().instance_id}, and "
        f"{len(workers)} workers ({cluster.capacity.last})."
    )
    return 0


def configure(context: Context, options: argparse.Namespace) -> int:
    """Prepares head and workers."""
    outcome = context.cluster(context.journal()).nodes.configure_all()
    print(f"The nodes are prepared (changed={outcome.changed}).")
    return 0


def train(context: Context, options: argparse.Namespace) -> int:
    """Prepares the nodes and starts the training on all of them."""
    journal = context.journal()
    cluster = context.cluster(journal)
    cluster.nodes.configure_all()
    cluster.set_hosts([i for i in cluster.workers() if i.is_running])
    cluster.nodes.start_training()
    journal.set_stage(Stage.TRAINING)
    print(f"The training of run {journal.info().run} runs. `centavo facts` shows it, `centavo optimize` steers it.")
    return 0


def optimize(context: Context, options: argparse.Namespace) -> int:
    """The main job, from the beginning or from where the last one stopped."""
    policy = options.policy or context.environment.settings.controller.policy
    check_policy(policy)
    context.set_interval(options.interval)
    check_telling_options(options)
    journal = context.journal(policy, parse_asked(options.deadline, options.budget))
    info = journal.info()
    promised = "".join(f", {promise}" for promise in in_words(info.promises))
    print(f"Run {info.run}, environment {info.environment}, policy {policy}{promised}: {journal.directory}", flush=True)
    approval = pull_request_approval(context, journal, options) if options.via == "pull-request" else None
    try:
        with telling(context, journal, options):
            context.optimizer(journal, approval or at_once).run()
    finally:
        if journal.stage() is Stage.ENDED:
            if approval is not None:
                approval.end()
            print_reports(context, journal)
    return 0


def destroy(context: Context, options: argparse.Namespace) -> int:
    """Removes everything, and ends the run that was under way."""
    terraform = context.terraform()
    terraform.init()
    export_terraform_rc(context.environment)
    journal = latest_run(context.environment.runs_directory)
    if journal is not None:
        _lift_protection(context, journal)
    made = terraform.plan(context.environment.state_directory / "destroy.tfplan", destroy=True, read=False)
    if made.has_changes:
        terraform.apply(made.file)
    _end_destroyed(context, journal)
    print(f"{context.environment.name} is down; nothing of it is left." if made.has_changes else "Nothing was up.")
    return 0


def _lift_protection(context: Context, journal: Journal) -> None:
    """Lets the groups end their instances; an environment that is half made or half gone has nothing to lift."""
    cluster = context.cluster(journal)
    try:
        cluster.lift_protection(cluster.workers())
    except CentavoError as error:
        context.reporter.note(context.clock.now(), f"the nodes' protection was not lifted: {error.what}")


def _end_destroyed(context: Context, journal: Journal | None) -> None:
    """The next run starts on the initial fleet, and this one is over."""
    capacity = CapacityFile(context.environment.capacity_file)
    if capacity.exists():
        capacity.write(Fleet(dict.fromkeys(capacity.read(), 0)))
    if journal is None or journal.info().environment != context.environment.name or journal.stage() is Stage.ENDED:
        return
    now = context.clock.now()
    if journal.status() == "running":
        journal.end("interrupted", "the environment was destroyed", now)
        keep_speeds(context.environment, journal)
    journal.set_stage(Stage.ENDED)
    write_reports(context, journal)
