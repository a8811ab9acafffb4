"""`centavo destroy`: ends the training and removes everything that Terraform made."""

from __future__ import annotations

import argparse

from controller.act.capacity import CapacityFile
from controller.commands.context import Context
from controller.commands.exports import export_terraform_rc
from controller.commands.shared.command import Command
from controller.commands.shared.run_report import write_reports
from controller.domain import Fleet
from controller.domain.errors import CentavoError
from controller.domain.reasons.ending import EnvironmentDestroyed
from controller.loop import keep_speeds
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import latest_run


def destroy(context: Context, options: argparse.Namespace) -> int:
    """Removes everything that Terraform made, and ends the run that was under way."""
    terraform = context.terraform()
    terraform.init()
    export_terraform_rc(context.environment)
    journal = latest_run(context.environment.runs_directory)
    if journal is not None:
        if journal.info().environment == context.environment.name:
            context.take_over(journal)
        _lift_protection(context, journal)
    plan = terraform.plan(context.environment.state_directory / "destroy.tfplan", destroy=True, read=False)
    if plan.has_changes:
        context.check_lock()
        terraform.apply(plan.file)
    _empty_capacity(context)
    if journal is not None:
        _end(context, journal)
    print(f"{context.environment.name} is down; nothing of it is left." if plan.has_changes else "Nothing was up.")
    return 0


def _lift_protection(context: Context, journal: Journal) -> None:
    """Allows the groups to end their instances. An environment that is half made or half gone has no protection."""
    cluster = context.cluster(journal)
    try:
        cluster.lift_protection(cluster.workers())
    except CentavoError as error:
        context.reporter.note(context.clock.now(), f"the nodes' protection was not lifted: {error.what}")


def _empty_capacity(context: Context) -> None:
    """Sets every capacity to zero, so that the next run starts on the initial fleet."""
    capacity = CapacityFile(context.environment.capacity_file, context.check_lock)
    if capacity.exists():
        capacity.write(Fleet(dict.fromkeys(capacity.read(), 0)))


def _end(context: Context, journal: Journal) -> None:
    """Ends the run, if it is one of this environment that has not ended yet."""
    if journal.info().environment != context.environment.name or journal.stage() is Stage.ENDED:
        return
    if journal.status() == "running":
        journal.end("interrupted", EnvironmentDestroyed(), context.clock.now())
        keep_speeds(context.environment, journal)
    journal.set_stage(Stage.ENDED)
    write_reports(context, journal)


COMMAND = Command("destroy", "end the training and remove everything that Terraform made", destroy, changes_things=True)
