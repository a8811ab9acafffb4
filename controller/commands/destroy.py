"""`centavo destroy`: ends the training and removes everything that Terraform made."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from controller.act.capacity import CapacityFile
from controller.commands.context import Context
from controller.commands.shared.command import Command
from controller.commands.shared.exports import export_terraform_rc
from controller.commands.shared.run_report import write_reports
from controller.domain import Fleet
from controller.domain.errors import CentavoError
from controller.domain.reasons.ending import EnvironmentDestroyed
from controller.edges.account.bucket import Bucket
from controller.edges.account.left_over import left_over
from controller.edges.aws import CLUSTER_TAG
from controller.edges.terraform import Terraform
from controller.edges.terraform_plan import GROUP_TYPE, Plan, parse_plan
from controller.loop import keep_speeds
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import latest_run
from controller.words.numbers import plural


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds what happens to the objects of a bucket."""
    parser.add_argument(
        "--delete-data",
        action="store_true",
        help="delete the checkpoints and results in the bucket, too, with all their old versions",
    )


def destroy(context: Context, options: argparse.Namespace) -> int:
    """Removes everything that Terraform made, and ends the run that was under way.

    A bucket that holds something is noticed first, and then nothing is removed: Terraform would fail at it half-way.
    The nodes go before the rest, so that none of them writes into a bucket that is about to be removed.
    """
    terraform = context.terraform()
    terraform.init()
    export_terraform_rc(context.environment)
    file = context.environment.state_directory / "destroy.tfplan"
    plan = _destroy_plan(terraform, file)
    cluster = _cluster_of(plan)
    buckets = [Bucket(context.environment.settings.aws.region, name) for name in _kept_buckets(plan)]
    if not options.delete_data:
        _require_empty(buckets, "nothing was destroyed")
    journal = latest_run(context.environment.runs_directory)
    if journal is not None:
        if journal.info().environment == context.environment.name:
            context.owner.take_over(journal)
        _lift_protection(context, journal)
    if buckets:
        plan = _without_nodes(context, terraform, plan, file)
        for bucket in buckets if options.delete_data else ():
            print(f"Deleted {plural(bucket.empty(), 'version')} of objects in the bucket {bucket.name}.")
        _require_empty(buckets, "only the nodes were destroyed")
    if plan.changed:
        context.owner.check()
        terraform.apply(file)
    _empty_capacity(context)
    if journal is not None:
        _end(context, journal)
    _say_what_is_left(context, plan, cluster)
    return 0


def _destroy_plan(terraform: Terraform, file: Path) -> Plan:
    """Returns the plan that removes everything."""
    plan = terraform.plan(file, destroy=True)
    return parse_plan(plan.document) if plan.has_changes else Plan(())


def _cluster_of(plan: Plan) -> str | None:
    """Returns the name of the cluster that a plan removes: the tag of what it removes."""
    return next((name for change in plan.changed if (name := change.tag(CLUSTER_TAG)) is not None), None)


def _kept_buckets(plan: Plan) -> list[str]:
    """Returns the buckets that Terraform removes only if they are empty."""
    return [
        str(change.before["bucket"])
        for change in plan.changed
        if change.type == "aws_s3_bucket" and change.before is not None and not change.before.get("force_destroy")
    ]


def _require_empty(buckets: Iterable[Bucket], so_far: str) -> None:
    """Checks that Terraform can remove the buckets.

    Args:
        buckets: The buckets.
        so_far: What has been destroyed.

    Raises:
        CentavoError: One holds something.
    """
    for bucket in buckets:
        held = bucket.contents()
        if not held.is_empty:
            at_least = "at least " if held.is_more else ""
            raise CentavoError(
                f"The bucket {bucket.name} holds {at_least}{plural(held.objects, 'object')} and "
                f"{at_least}{plural(held.old, 'old version')} ({held.size_bytes / 1e6:,.1f} MB). AWS removes no bucket "
                f"that holds something, so {so_far}.",
                f"Copy what you want to keep (`aws s3 sync s3://{bucket.name} FOLDER`). Then `make destroy "
                "DELETE_DATA=1` deletes the rest, old versions included.",
            )


def _without_nodes(context: Context, terraform: Terraform, plan: Plan, file: Path) -> Plan:
    """Removes the nodes, if there are any, and returns the plan that removes the rest."""
    nodes = [change.address for change in plan.changed if change.type in (GROUP_TYPE, "aws_instance")]
    if not nodes:
        return plan
    first = context.environment.state_directory / "destroy-nodes.tfplan"
    if terraform.plan(first, destroy=True, read=False, only=nodes).has_changes:
        context.owner.check()
        terraform.apply(first)
    return _destroy_plan(terraform, file)


def _say_what_is_left(context: Context, plan: Plan, cluster: str | None) -> None:
    """Prints what a destroy has kept, and what of the cluster still costs money."""
    name, runs = context.environment.name, context.environment.runs_directory
    if not plan.changed:
        print("Nothing was up.")
        return
    print(f"{name} is down. Kept: the runs with their results in {runs}, and the state of Terraform in its backend.")
    keys = [change for change in plan.changed if change.type == "aws_kms_key" and change.before is not None]
    for key in keys:
        days = (key.before or {}).get("deletion_window_in_days")
        print(
            f"AWS deletes the KMS key {(key.before or {}).get('key_id')} in {days} days. It costs nothing until then."
        )
    try:
        left = left_over(context.environment.settings.aws.region, cluster) if cluster else []
    except CentavoError as error:
        print(f"Whether anything else still costs money is not known: {error.what}")
        return
    print(f"Still there, and costing money: {', '.join(left)}." if left else "Nothing of it costs money any more.")


def _lift_protection(context: Context, journal: Journal) -> None:
    """Allows the groups to end their instances. An environment that is half made or half gone has no protection."""
    cluster = context.cluster(journal)
    try:
        cluster.lift_protection(cluster.workers())
    except CentavoError as error:
        context.reporter.note(context.clock.now(), f"the nodes' protection was not lifted: {error.what}")


def _empty_capacity(context: Context) -> None:
    """Sets every capacity to zero, so that the next run starts on the initial fleet."""
    capacity = CapacityFile(context.environment.capacity_file, context.owner.check)
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


COMMAND = Command(
    "destroy",
    "end the training and remove everything that Terraform made",
    destroy,
    add_options,
    changes_things=True,
)
