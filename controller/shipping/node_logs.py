"""The logs that a node has, and whose they are."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from . import streams
from .log import Source

BOOT_LOG = Path("/var/log/cloud-init-output.log")
LARGEST_FACT_BYTES = 65_536


def node_logs(root: Path, fact: Path, run: str, instance: str, boot_log: Path = BOOT_LOG) -> list[Source]:
    """Returns the logs of a node.

    Args:
        root: The folder of all that Centavo has on the node.
        fact: The iteration fact of the node's rank.
        run: The run that the node works for.
        instance: The id of the instance.
        boot_log: What the boot has printed. A login user may not be able to read it.
    """
    fixed = {
        root / "log" / "launcher.log": streams.LAUNCHER,
        root / "log" / "supervisord.log": streams.supervisor_name(instance),
        boot_log: streams.boot_name(instance),
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
