"""`centavo stop`: asks the controller, wherever it runs, to end the training now and to give everything back."""

from __future__ import annotations

import argparse

from controller.commands.context import Context
from controller.commands.shared import owned
from controller.commands.shared.command import Command
from controller.commands.shared.detaching import head_after_training
from controller.domain.errors import CentavoError
from controller.domain.lease import Lease, Place
from controller.edges.process_identity import this_process
from controller.owning.asked import Asked, ask_to_stop
from controller.owning.taking import see
from controller.record.journal import Stage


def stop(context: Context, options: argparse.Namespace) -> int:
    """Asks the controller of the run that is under way to end it.

    Raises:
        CentavoError: No run is under way, or no controller is there to hear it.
    """
    name = context.environment.name
    objects = owned.bucket_of(context.environment)
    seen = None if objects is None else see(objects)
    lease = None if seen is None else seen.lease
    if objects is None or seen is None or lease is None or lease.run is None or lease.stage == Stage.ENDED.value:
        raise CentavoError(f"No run is under way in {name}.", "There is nothing to stop.")
    if lease.is_free(seen.kept.age_s):
        raise CentavoError(
            f"No controller is there to end the run {lease.run}: {lease.holder} was the last one.",
            f"`centavo --env {name} destroy` ends what runs, `centavo --env {name} optimize` goes on with it.",
        )
    own = this_process()
    ask_to_stop(objects, Asked(lease.run, f"{own.user}@{own.host}", context.clock.now()), lease.generation)
    print(_told(lease, context))
    return 0


def _told(lease: Lease, context: Context) -> str:
    where = "on the head" if lease.holder.place is Place.HEAD else f"on {lease.holder.host}"
    interval_s = context.environment.settings.controller.interval_s
    return (
        f"Asked the controller {where} to end the run {lease.run}. Its next look, which it takes every "
        f"{interval_s:g} s, begins with that: the ranks write a checkpoint, and the workers are given back. "
        f"The head {head_after_training(lease.switch.head, lease.switch.ended_s)} `centavo destroy` removes it."
    )


COMMAND = Command("stop", "end the training now with a checkpoint, wherever its controller runs", stop)
