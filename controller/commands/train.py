"""`centavo train`: starts the training on all nodes, without optimising the fleet."""

from __future__ import annotations

import argparse

from controller.commands.context import Context
from controller.commands.shared.command import Command
from controller.record.journal import Stage


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


COMMAND = Command("train", "prepare the nodes and start the training, without optimising", train, changes_things=True)
