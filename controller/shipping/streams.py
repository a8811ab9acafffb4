"""The names of the log streams of a run. Readers find them by these names, too."""

from __future__ import annotations

CONTROLLER = "controller"
LAUNCHER = "launcher"


def group_of(cluster: str) -> str:
    """Returns the name of the cluster's log group, as Terraform makes it."""
    return f"/centavo/{cluster}"


def stream(run: str, name: str) -> str:
    """Returns the stream of one log of a run."""
    return f"{run}/{name}"


def rank_name(run: str, rank: int) -> str:
    """Returns the name of a rank, which is the same whatever node it is on."""
    return f"centavo-{run}-{rank}"


def worker_name(instance: str) -> str:
    """Returns the name of the log of a worker that has no rank yet."""
    return f"worker-{instance}"


def supervisor_name(instance: str) -> str:
    """Returns the name of the log of a node's supervisor."""
    return f"supervisor-{instance}"


def boot_name(instance: str) -> str:
    """Returns the name of the log of an instance's boot."""
    return f"boot-{instance}"
