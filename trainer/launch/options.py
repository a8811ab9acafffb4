"""How a training is launched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LaunchOptions:
    """How the nodes are reached, and how many ranks there may be.

    Attributes:
        hosts_file: The nodes' addresses, one a line. The file is read again all the time.
        results: Where results and done.json go.
        attach_command: What is started on a node to reach its warm worker.
        network_interface: The head's interface towards the nodes.
        min_np: The fewest ranks to train with.
        max_np: The most ranks to train with.
        start_patience_s: How long all hosts of the file are waited for before `min_np` of them suffice.
        elastic_timeout_s: How long Horovod waits for `min_np` ranks.
        attempts: How often in a row, at least, the training is begun from its last checkpoint without getting further.
        patience_s: How long, at least, it is begun again without getting further: the network may fail for minutes.
        wanted_file: A file that says that this launcher is wanted. It is removed when the training has ended; without
            it, a launcher that is started does nothing. None: the launcher is always wanted.
    """

    hosts_file: Path
    results: Path
    attach_command: str
    network_interface: str
    min_np: int = 1
    max_np: int = 64
    ssh_port: int | None = None
    ssh_identity_file: Path | None = None
    ssh_config: Path | None = None
    ssh_user: str | None = None
    start_patience_s: float = 120.0
    elastic_timeout_s: int = 600
    attempts: int = 3
    patience_s: float = 300.0
    wanted_file: Path | None = None
