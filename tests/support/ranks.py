"""A world of ranks on this machine for tests and benches: Horovod without elastic, over loopback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from horovod.runner.common.util.hosts import HostInfo, get_host_assignments
from horovod.runner.gloo_run import create_run_env_vars, create_slot_env_vars
from horovod.runner.http.http_server import RendezvousServer

ROOT = Path(__file__).parents[2]


def run_world(
    size: int,
    command_of: Callable[[int], Sequence[str]],
    environment_of: Callable[[int], dict[str, str]] = lambda _: {},
) -> tuple[list[int], list[str], list[str]]:
    """Runs one process for each rank, as plain horovodrun would.

    Args:
        size: The number of ranks.
        command_of: Returns the command of a rank.
        environment_of: Returns what a rank has in its environment beside Horovod's variables.

    Returns:
        The exit code, the standard output and the standard error of each rank.
    """
    server = RendezvousServer()
    slots = get_host_assignments([HostInfo(f"host{rank}", 1) for rank in range(size)], size)
    port = server.start()
    server.init(slots)
    run = {name: str(value) for name, value in create_run_env_vars("127.0.0.1", ["lo"], port).items()}
    common = {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9",
    }
    processes = [
        subprocess.Popen(
            command_of(slot.rank),
            env={**os.environ, **run, **create_slot_env_vars(slot), **common, **environment_of(slot.rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for slot in slots
    ]
    try:
        outputs = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
        server.stop()
    return [process.returncode for process in processes], [out for out, _ in outputs], [err for _, err in outputs]
