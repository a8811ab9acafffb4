"""The last stage of a run: everything that costs money per hour is given back, and the results are fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from controller.act.doing import Doer
from controller.act.reconcile.actions import Action, Reached, StopTraining
from controller.act.reconcile.next_actions import next_actions
from controller.act.reconcile.seeing import see
from controller.domain import NO_NODES, Observation
from controller.domain.errors import AnsibleError, ConfigError, NodesError
from controller.domain.goal import Goal
from controller.domain.reasons.ending import ResultsMissing
from controller.loop.job import PASSING_TROUBLES, Job
from controller.words.once import Once
from controller.words.reasons import reason_in_words

RELEASE_LIMIT_S = 3600.0
"""For how long giving the workers back is tried before the controller ends with the error."""
FETCH_TRIES = 3
STOP_TRIES = 3


def finish(job: Job, status: str) -> None:
    """Gives the workers back and fetches the results.

    Args:
        job: The run.
        status: How the training ended.

    Raises:
        AnsibleError: The results could not be fetched. They are still on the head, and a second try may do better.
            Where the head answers and has none, the run ends as failed.
        CentavoError: The workers could not be given back.
    """
    job.note("giving the workers back")
    is_finished = status == "finished"
    _release(job, is_finished)
    job.note("fetching the results")
    _fetch(job, is_finished)


def _release(job: Job, is_finished: bool) -> None:
    """Gives the workers back. What fails is tried again, for they cost money and do nothing any more."""
    note, began = Once(job.note), job.clock.now()
    job.cluster.capacity.read()
    stop = Stopping(job)
    look = partial(_look, job, Once(job.note))
    while True:
        try:
            if _is_given_back(job, stop, look, is_finished):
                return
        except PASSING_TROUBLES as error:
            if job.clock.now() >= began + RELEASE_LIMIT_S:
                raise
            note(f"the workers are not all given back yet: {error.what}")
        job.clock.sleep(job.settings.poll_s)


class Stopping:
    """Stops the launcher, so that the ranks write a checkpoint first. Workers cost money: it is not tried for ever."""

    def __init__(self, job: Job) -> None:
        self._job, self._failures = job, 0

    def done_of(self, actions: Sequence[Action]) -> list[Action]:
        """Stops the launcher where the actions say so. Returns the actions that are left.

        Raises:
            AnsibleError: The launcher could not be stopped, and the next pass shall try again.
        """
        if StopTraining() in actions and self._failures < STOP_TRIES:
            try:
                self._job.cluster.stop_training()
            except AnsibleError as error:
                self._failures += 1
                self._job.note(f"the launcher on the head could not be stopped: {error.what}")
                if self._failures < STOP_TRIES:
                    raise
        return [action for action in actions if not isinstance(action, StopTraining)]


def _look(job: Job, tell: Once) -> Observation:
    """Looks at the cluster. What has no price is given back, too, and is missing in the bill."""
    try:
        return job.cluster.observe()
    except ConfigError as error:
        tell(f"the bill is not whole: {error.what}")
        return job.cluster.observer.look()


def _is_given_back(job: Job, stop: Stopping, look: Callable[[], Observation], is_finished: bool) -> bool:
    """Does what is next to give everything back. Returns whether nothing is left to do."""
    cluster, timeouts = job.cluster, job.settings.timeouts
    observation = look()
    seen = see(
        cluster.workers(),
        observation,
        capacity=cluster.desired(),
        drain_s=timeouts.drain_s,
        has_ended=is_finished,
    )
    actions = next_actions(Goal(NO_NODES), seen)
    left = stop.done_of(actions)
    Doer(cluster, timeouts.configure_s, job.clock.now, job.note).do(left)
    return left == [Reached()]


def _miss(job: Job, is_finished: bool) -> None:
    """Tells that the head has no results. A training that has finished without any has failed."""
    if not is_finished:
        job.note("the training did not finish, and left no results")
        return
    reason = ResultsMissing()
    job.note(reason_in_words(reason))
    job.end("failed", reason)


def _fetch(job: Job, is_finished: bool) -> None:
    for tries in range(1, FETCH_TRIES + 1):
        try:
            if not job.cluster.nodes.fetch_results():
                _miss(job, is_finished)
            return
        except NodesError as error:
            job.note(f"the results could not be fetched from the head: {error.what}")
            job.note(_waiting(job))
            return
        except AnsibleError as error:
            if not is_finished:
                job.note(f"the results of a training that did not finish could not be fetched: {error.what}")
                return
            if tries == FETCH_TRIES:
                job.note(_waiting(job))
                raise
            job.note(f"the results could not be fetched yet: {error.what}")
        job.clock.sleep(job.settings.poll_s)


def _waiting(job: Job) -> str:
    """Returns where the results wait for a person who can't get them from the head."""
    run, bucket = job.journal.info().run, job.cluster.made.outputs.bucket
    there, here = f"s3://{bucket}/{run}/results", job.journal.directory / "results"
    return f"what the training left waits in {there} (`aws s3 cp --recursive {there} {here}` brings it)"
