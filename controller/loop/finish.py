"""The last stage of a run: the results are fetched, and everything that costs money per hour is given back."""

from __future__ import annotations

from controller.act.waiting import Waiter
from controller.domain import Fleet
from controller.domain.errors import AnsibleError, CentavoError, GuardError, TerraformError
from controller.loop.job import PASSING_TROUBLES, Job, move_limits
from controller.loop.moving import close_move

RELEASE_TRIES = 10


def finish(job: Job) -> None:
    """Fetches the results and gives the workers back. Raises AnsibleError, after that, when fetching failed."""
    job.note("fetching the results")
    trouble = _try_to_fetch(job)
    if job.journal.status() != "finished":
        _stop_launcher(job)
    close_move(job)
    job.note("giving the workers back")
    _release(job)
    if trouble is not None:
        raise trouble


def _try_to_fetch(job: Job) -> CentavoError | None:
    """Fetches the results. An error is returned and not raised: the results stay on the head, the workers cost more."""
    try:
        job.cluster.nodes.fetch_results()
    except AnsibleError as error:
        if job.journal.status() == "finished":
            return error
        job.note(f"a failed training left no results: {error.what}")
    return None


def _stop_launcher(job: Job) -> None:
    """Stops the launcher of a failed training, which might start it anew. The workers are given back in any case."""
    try:
        job.cluster.nodes.stop_training()
    except AnsibleError as error:
        job.note(f"the launcher on the head could not be stopped: {error.what}")


def _release(job: Job) -> None:
    """Gives the workers back. What fails is tried again, for they cost money and do nothing any more."""
    for _ in range(RELEASE_TRIES - 1):
        try:
            _try_to_release(job)
            return
        except PASSING_TROUBLES as error:
            job.note(f"the workers are not all given back yet: {error.what}")
            job.clock.sleep(job.settings.interval_s)
    _try_to_release(job)


def _try_to_release(job: Job) -> None:
    """Sets the capacity to zero, and waits until no worker runs."""
    cluster, limits = job.cluster, move_limits(job.settings)
    cluster.capacity.read()
    cluster.lift_protection(cluster.workers())
    try:
        cluster.set_capacity(Fleet({}))
    except (GuardError, TerraformError) as error:
        job.note(f"Terraform did not give the workers back, so their groups are told to: {error.what}")
        cluster.applier.empty_groups()
    Waiter(cluster, job.clock, limits, lambda: job.clock.sleep(limits.poll_s)).until_gone(staying=())
