"""`centavo configure`: prepares the nodes with Ansible."""

from __future__ import annotations

import argparse

from controller.commands.context import Context
from controller.commands.shared.command import Command
from controller.commands.shared.telling import tell_all
from controller.words.preparing import prepared


def configure(context: Context, options: argparse.Namespace) -> int:
    """Prepares the head and the workers, and tells how long new nodes took."""
    journal = context.journal()
    cluster, began = context.cluster(journal), context.clock.now()
    outcome = cluster.nodes.configure_all()
    if outcome.changed:
        workers = [worker for worker in cluster.workers() if worker.is_running]
        tell_all(context, journal, prepared(workers, began, context.clock.now()))
    print(f"The nodes are prepared (changed={outcome.changed}).")
    return 0


COMMAND = Command(
    "configure", "prepare the nodes with Ansible; a second time changes nothing", configure, changes_things=True
)
