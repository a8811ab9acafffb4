"""`centavo configure`: prepares the nodes with Ansible."""

from __future__ import annotations

import argparse

from controller.commands.context import Context
from controller.commands.shared.command import Command


def configure(context: Context, options: argparse.Namespace) -> int:
    """Prepares the head and the workers."""
    outcome = context.cluster(context.journal()).nodes.configure_all()
    print(f"The nodes are prepared (changed={outcome.changed}).")
    return 0


COMMAND = Command(
    "configure", "prepare the nodes with Ansible; a second time changes nothing", configure, changes_things=True
)
