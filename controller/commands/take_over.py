"""`centavo take-over`: makes this checkout the one that controls the cluster, wherever its controller ran before."""

from __future__ import annotations

import argparse

from controller.commands.context import Context
from controller.commands.shared import owned
from controller.commands.shared.command import Command
from controller.commands.shared.exports import export_terraform_rc
from controller.domain.errors import CentavoError, JournalError, LockedError
from controller.domain.lease import Lease
from controller.domain.reasons.writing import LeaseHeld
from controller.edges.bucket.objects import BucketObjects
from controller.owning import bringing
from controller.owning.offering import offer_key
from controller.owning.ownership import Ownership
from controller.owning.remote import Remote
from controller.record.journal import Journal, Stage
from controller.words.numbers import duration

LOOK_EVERY_S = 5.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds whether to wait."""
    parser.add_argument(
        "--now",
        action="store_true",
        help="take the cluster from a controller that lives, and wait until that one has noticed it (default: wait "
        "until its lease runs out or is given back)",
    )


def take_over(context: Context, options: argparse.Namespace) -> int:
    """Takes the cluster's lease, and brings the run, the capacity file and Terraform's local state to this checkout.

    Raises:
        CentavoError: There is nothing to take over, or the state here does not know the cluster.
    """
    environment = context.environment
    with context.owner.alone_here("centavo take-over") as ownership:
        bucket = owned.bucket_of(environment)
        if bucket is None:
            raise CentavoError(
                f"There is no bucket of a cluster {environment.settings.cluster}, so there is nothing to take over.",
                "`centavo optimize` makes a cluster and starts a run.",
            )
        before = _take(context, bucket, by_force=options.now)
        offer_key(bucket, environment.public_key_file.read_bytes(), ownership.checkout, ownership.generation)
        _let_notice(context, ownership)
        run = Remote(bucket, environment.state_directory / "remote").newest_run()
        if run is None:
            raise JournalError("The cluster has had no run yet.", "`centavo optimize` starts one.")
        journal, is_brought = bringing.bring_run(bucket, environment, run)
        is_new_capacity = bringing.bring_capacity(bucket, environment)
        is_new_state = bringing.bring_terraform_state(bucket, environment)
        bringing.bring_cluster_key(bucket, environment)
        context.owner.take_over(journal)
        _print(context, journal, before, [is_brought, is_new_capacity, is_new_state])
        _check_terraform(context)
    return 0


def _take(context: Context, bucket: BucketObjects, *, by_force: bool) -> Lease | None:
    """Takes the lease, as soon as it is free or at once. Returns the lease as its last holder left it.

    Raises:
        LockedError: What lies in the bucket is no lease.
        StoppedError: A person does not want to wait any longer.
    """
    is_told = False
    while True:
        try:
            return context.owner.own(bucket, by_force=by_force)
        except LockedError as error:
            if not isinstance(error.reason, LeaseHeld):
                raise
            if not is_told:
                print(f"{error.what}\nWaiting until it is free; `--now` takes it from a holder that lives.", flush=True)
            is_told = True
            context.clock.sleep(LOOK_EVERY_S)


def _let_notice(context: Context, ownership: Ownership) -> None:
    """Waits until a controller that lived has tried to renew its lease. Until then it may still change the cluster.

    Raises:
        StoppedError: A person does not want to wait. The lease is given back.
        SupersededError: Somebody else has taken the lease meanwhile.
    """
    if ownership.unaware_s > 0:
        print(f"Waiting {duration(ownership.unaware_s)} until the controller that lived has noticed it.", flush=True)
        context.clock.sleep(ownership.unaware_s)
        ownership.check_surely()


def _check_terraform(context: Context) -> None:
    """Raises CentavoError where Terraform knows nothing of the cluster here."""
    terraform = context.terraform()
    terraform.init()
    export_terraform_rc(context.environment)
    if terraform.outputs() is None:
        cluster = context.environment.settings.cluster
        raise CentavoError(
            f"The state of Terraform in this checkout knows nothing of the cluster {cluster}.",
            f"Where the state is in S3, copy backend.hcl to {context.environment.directory}, and take over again.",
        )


def _print(context: Context, journal: Journal, before: Lease | None, brought: list[bool]) -> None:
    names = ("the run's folder", "the capacity file", "the state of Terraform")
    changed = [name for name, is_changed in zip(names, brought, strict=True) if is_changed]
    print(f"This checkout controls the cluster {context.environment.settings.cluster} from now on.")
    if before is not None:
        print(f"Before it was {before.holder}, in its lease number {before.generation}.")
    print(f"Brought from the bucket: {', '.join(changed) or 'nothing, all of it is here'}.")
    print(f"Run {journal.info().run} is in its stage `{journal.stage().value}`: {journal.directory}")
    if journal.stage() is not Stage.ENDED:
        environment = context.environment
        print(
            f"`centavo --env {environment.name} optimize` carries on. The nodes read this checkout's public key in the "
            "bucket, and let it in within a minute or so."
        )


COMMAND = Command(
    "take-over", "control the cluster from this checkout, wherever its controller ran before", take_over, add_options
)
