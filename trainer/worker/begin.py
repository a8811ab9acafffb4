"""The beginning of a warm worker: everything that comes before MXNet is imported."""

# ruff: noqa: PLC0415

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from trainer.files.lock import only_one
from trainer.node.start import announce_start
from trainer.settings.file import read

log = logging.getLogger(__name__)


def begin(config: Path, overrides: Sequence[str], socket: Path, fact_path: Path | None, wanted: Path | None) -> int:
    """Says in the fact that this node starts, and becomes a warm worker.

    A worker that an earlier supervisor has left behind is waited for: it may still train.

    Args:
        config: training.yml.
        overrides: Settings in place of those in `config`.
        socket: Where the worker waits for a launcher.
        fact_path: The folder of the fact; None: as the settings say.
        wanted: A file that says that this node is to take part. Where it is missing, nothing is started. It is removed
            when the node has left the training for good. None: the node is always to take part.

    Returns:
        The exit code, if there was no training.
    """
    with only_one(socket.with_suffix(".lock")):
        if wanted is not None and not wanted.exists():
            log.info("%s is missing: this node takes no part", wanted)
            return 0
        socket.unlink(missing_ok=True)  # of a worker that was killed: nobody listens there
        written = config.read_bytes()
        settings = read(config, overrides)
        facts, metadata = announce_start(settings, fact_path)
        from trainer.worker.warm_worker import WarmWorker

        worker = WarmWorker(settings, facts, metadata, is_current=lambda: config.read_bytes() == written)
        return worker.run(socket, wanted)
