"""`centavo optimize --detach`: what is checked before, and what a person is told when the head has the run."""

from __future__ import annotations

import argparse

from controller.commands.context import Context
from controller.commands.shared.unfinished import keep_handed_over
from controller.domain.errors import ConfigError
from controller.domain.lease import HeadEnding, Lease
from controller.edges.bucket.objects import BucketObjects
from controller.edges.supplying.store import Store
from controller.edges.supplying.terraform_tools import TerraformTools
from controller.edges.supplying.wheel_builder import OF_CONTROLLER, WheelBuilder
from controller.handover.bundle import check_files
from controller.handover.handing import Handing
from controller.handover.kit import Kit
from controller.handover.permissions import require_permissions
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import unfinished_run
from controller.words.numbers import duration, usd


def is_detached(context: Context, options: argparse.Namespace) -> bool:
    """Returns whether the run shall be handed to the head.

    Raises:
        ConfigError: It shall be, and can't be in this environment, on this machine or with these options.
        SupplyError: The packages for a controller on the head can't be had.
    """
    settings = context.environment.settings
    if not (settings.controller.detach if options.detach is None else options.detach):
        return False
    if options.via != "controller":
        raise ConfigError(
            "A controller on the head can't open pull requests: it has no repository.",
            "Leave `--via pull-request` or `--detach` away.",
        )
    if options.metrics:
        raise ConfigError("A controller on the head serves no metrics here.", "Leave `--metrics` or `--detach` away.")
    check_files(context.environment)
    kit_of(context).make_ready()
    return True


def kit_of(context: Context) -> Kit:
    """Returns what the environment's head needs before a controller can run there."""
    environment, is_stopping = context.environment, context.clock.is_stopping
    return Kit(
        environment.settings.nodes.wheelhouse,
        Store(environment.settings.aws.region),
        WheelBuilder(environment.root, is_stopping, OF_CONTROLLER),
        TerraformTools(environment.directory, is_stopping),
        context.note,
    )


def is_unfinished(context: Context, run: str) -> bool:
    """Returns whether this is the unfinished run of the environment."""
    journal = unfinished_run(context.environment.runs_directory, context.environment.name)
    return journal is not None and journal.info().run == run


def detach(context: Context, journal: Journal) -> int:
    """Hands the run to the head, and tells how to look at it, how to stop it, and what it may cost."""
    lease = hand_over(context, journal)
    print(told(context, journal, lease))
    return 0


def hand_over(context: Context, journal: Journal) -> Lease:
    """Hands a run to a controller on the head, from whatever stage it is in.

    Where it fails, the run stays here, unfinished.

    Returns:
        The lease that the head's controller has.
    """
    cluster, region = context.cluster(journal), context.environment.settings.aws.region
    if journal.stage() is Stage.STARTING:
        context.note("bringing the fleet up")
        context.bring_up(cluster, journal)
    cluster.capacity.read()
    require_permissions(cluster.made.outputs)
    handing = Handing(
        context.environment,
        cluster,
        journal,
        context.clock,
        Store(region),
        BucketObjects(region, cluster.made.outputs.bucket),
        kit_of(context),
        context.owner.generation,
        lambda: context.terraform(journal.directory).state_id()[0],
        context.owner.give_back,
        context.note,
    )
    lease = handing.hand_over()
    keep_handed_over(journal, context.clock.now())
    return lease


def told(context: Context, journal: Journal, lease: Lease) -> str:
    """Returns what a person has to know of a run that the head goes on with."""
    centavo, bucket = f"centavo --env {context.environment.name}", context.cluster(journal).made.outputs.bucket
    return "\n".join(
        (
            f"The run {lease.run} goes on at the head of {lease.cluster}. This machine may go.",
            f"  Look:     `{centavo} status --remote`, `watch --remote` and `logs --follow`, from any machine.",
            f"  Stop:     `{centavo} stop` ends the training with a checkpoint and gives the workers back.",
            f"  Results:  the bucket {bucket} has checkpoints, results and report under {lease.run}/.",
            f"  Head:     {_head(context)}",
            f"  Cost:     {_cost(context, journal)}",
        )
    )


def _head(context: Context) -> str:
    """Returns what becomes of the head after the training."""
    switch = context.environment.settings.controller.switch
    return f"it {head_after_training(switch.head, switch.ended_s)} `centavo destroy` removes it."


def head_after_training(head: HeadEnding, ended_s: float) -> str:
    """Returns what the head does after the training, without its subject."""
    if head is HeadEnding.KEEP:
        return "runs on after the training."
    ends = "stops" if head is HeadEnding.STOP else "terminates"
    return f"{ends} itself {duration(ended_s)} after the training."


def _cost(context: Context, journal: Journal) -> str:
    """Returns what a run costs at most if nobody looks at it any more."""
    limits = journal.info().constraints.onto(context.environment.limits())
    if limits.budget_usd is not None:
        return f"at most {usd(limits.budget_usd)}, the budget, until the training ends; then the head's own price."
    if limits.max_usd_per_hour is not None:
        return (
            f"at most {usd(limits.max_usd_per_hour)} an hour until the training ends. `--budget` would limit the sum."
        )
    return "no limit is set; it ends with the training. `--budget` limits what a run may cost."
