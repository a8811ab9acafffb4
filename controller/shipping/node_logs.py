"""The logs that a node has, and whose they are."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

from . import streams
from .log import Source

BOOT_LOG = "/var/log/cloud-init-output.log"
BOOT_LOG_VARIABLE = "CENTAVO_BOOT_LOG"
"""Names another file, for a node that is emulated on a machine with a boot log of its own."""
LARGEST_FACT_BYTES = 65_536


def node_logs(root: Path, fact: Path, run: str, instance: str) -> list[Source]:
    """Returns the logs of a node. What its boot has printed is one of them, where the login user may read it.

    Args:
        root: The folder of all that Centavo has on the node.
        fact: The iteration fact of the node's rank.
        run: The run that the node works for.
        instance: The id of the instance.
    """
    fixed = {
        root / "log" / "launcher.log": streams.LAUNCHER,
        root / "log" / "supervisord.log": streams.supervisor_name(instance),
        Path(os.environ.get(BOOT_LOG_VARIABLE, BOOT_LOG)): streams.boot_name(instance),
    }
    sources = [Source(path.name, path, partial(streams.stream, run, name)) for path, name in fixed.items()]
    return [Source("worker.log", root / "log" / "worker.log", partial(worker_stream, fact, run, instance)), *sources]


def worker_stream(fact: Path, run: str, instance: str) -> str:
    """Returns the stream of the worker's log: its rank's, or its own before it has one."""
    rank = rank_of(fact)
    return streams.stream(run, streams.worker_name(instance) if rank is None else streams.rank_name(run, rank))


def rank_of(fact: Path) -> int | None:
    """Returns the rank that the node's iteration fact names; None where it names none, or can't be read."""
    try:
        with open(fact, "rb") as file:
            rank = json.loads(file.read(LARGEST_FACT_BYTES))["rank"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return rank if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 0 else None
