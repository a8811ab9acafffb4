"""`centavo facts`: what every node says of itself."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console

from controller.commands.context import Context
from controller.commands.shared.chosen_run import Chosen, add_remote_option, choose
from controller.commands.shared.command import Command
from controller.domain import Observation
from controller.domain.errors import JournalError
from controller.record.journal import codec
from controller.record.journal.reasons import described_reason
from controller.record.report.facts_table import facts_table


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the form of the output."""
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_remote_option(parser)


def facts(context: Context, options: argparse.Namespace) -> int:
    """Prints every node's iteration fact, or why it is unknown."""
    chosen = choose(context, None, remote=options.remote)
    observation = _last(chosen) if chosen.copy else context.cluster(chosen.journal).observer.look()
    if options.json:
        print(json.dumps(_plain(observation), indent=2))
    else:
        Console().print(facts_table(observation))
    return 0


def _last(chosen: Chosen) -> Observation:
    """Returns the last observation that the journal has, without asking any node."""
    seen = chosen.journal.recent(1)
    if not seen:
        raise JournalError("Nothing has been observed yet.", "Try again when the nodes run.")
    return seen[-1]


def _plain(observation: Observation) -> dict[str, Any]:
    """Returns an observation as `observation.schema.json` describes it."""
    unknown = [
        {"instance_id": node.instance_id, "flavor": node.flavor, **described_reason(node.reason)}
        for node in observation.unknown
    ]
    return {**codec.plain(observation), "unknown": unknown}


COMMAND = Command("facts", "what every node says of itself", facts, add_options)
