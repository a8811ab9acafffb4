"""The first stage of a run: everything is made and prepared, and the training is started."""

from __future__ import annotations

from collections.abc import Callable

from controller.act.waiting import Waiter, nodes_error
from controller.cluster import LiveCluster
from controller.config.settings import ControllerSettings
from controller.domain import Fleet, Instance
from controller.domain.reasons.moving import NoAnswer
from controller.edges.clock import Clock
from controller.loop.job import Job, move_limits


def start(job: Job, bring_up: Callable[[], None]) -> None:
    """Makes what Terraform declares, prepares all nodes, and starts the training on them."""
    cluster = job.cluster
    job.note("bringing the fleet up")
    bring_up()
    began = job.clock.now()
    fleet = cluster.capacity.read()
    workers = wait_until_up(cluster, job.clock, job.settings, fleet, began)
    cluster.note_cost()
    job.note(f"{fleet} run and answer; preparing them")
    outcome = cluster.nodes.configure_all()
    job.note(f"the nodes are prepared ({outcome.changed} changes); starting the training")
    cluster.set_hosts(workers)
    cluster.nodes.start_training()


def wait_until_up(
    cluster: LiveCluster, clock: Clock, settings: ControllerSettings, fleet: Fleet, since: float
) -> tuple[Instance, ...]:
    """Waits until a fleet runs, and its nodes and the head answer over SSH.

    Args:
        fleet: What is to run.
        since: When EC2 was asked for it (seconds since the epoch).

    Returns:
        The running workers.

    Raises:
        CapacityUnavailableError: EC2 could not launch a flavor that is missing.
        NodesError: Nodes do not run or do not answer in time.
        AwsError: EC2 can't be asked in time.
    """
    limits = move_limits(settings)
    waiter = Waiter(cluster, clock, limits, lambda: clock.sleep(limits.poll_s))
    deadline = clock.now() + limits.boot_s
    while True:
        running = tuple(i for i in waiter.until_running(fleet, fleet, since) if i.is_running)
        silent = cluster.silent([cluster.instances.head(), *running])
        if not silent:
            return running
        if clock.now() >= deadline:
            raise nodes_error(NoAnswer(silent, limits.boot_s))
        clock.sleep(limits.poll_s)
