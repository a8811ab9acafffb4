"""The first stage of a run: everything is made and prepared, and the training is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from controller.act.doing import Doer
from controller.act.reconcile.actions import Action, Awaited, Reached, StartTraining, Wait
from controller.act.reconcile.next_actions import next_actions
from controller.act.reconcile.patience import Times, given_up
from controller.act.reconcile.seeing import see
from controller.act.reconcile.seen import Seen
from controller.cluster import LiveCluster
from controller.config.settings import ControllerSettings
from controller.domain import Fleet, Observation
from controller.domain.errors import (
    AnsibleError,
    AskedToStopError,
    AwsError,
    DiskError,
    FlavorsError,
    HeadError,
    LeaseUncertainError,
    TerraformError,
)
from controller.domain.goal import Goal
from controller.edges.clock import Clock
from controller.loop.job import Job, move_limits
from controller.words.going_away import going_away
from controller.words.once import Once
from controller.words.reasons import reason_in_words

TRIES = 3
"""How often in a row preparing the nodes and starting the training may fail."""
TRIED_AGAIN = (AnsibleError, AwsError, DiskError)
START_TROUBLES = (*TRIED_AGAIN, TerraformError, FlavorsError, HeadError)
"""The errors of a start that is given up. What was made is given back then."""


def start(job: Job, bring_up: Callable[[], None]) -> None:
    """Makes what Terraform declares, prepares all nodes, and starts the training on them.

    Raises:
        AskedToStopError: A person asked to end it.
        FlavorsError: Nodes could not be had, or did not answer in time.
        HeadError: The head did not answer in time.
        AnsibleError: Nodes could not be prepared.
    """
    refuse_where_asked(job)
    job.note("bringing the fleet up")
    bring_up()
    job.note(_if_you_go_away(job))
    tell = Once(job.note)
    coming_up = ComingUp(job.cluster, job.clock, job.settings, job.cluster.capacity.read(), tell)
    failures = 0
    while failures < TRIES:
        refuse_where_asked(job)
        try:
            if _go_on(job, coming_up):
                return
            failures = 0
        except LeaseUncertainError as error:
            tell(error.what)
            job.clock.sleep(job.settings.poll_s)
        except TRIED_AGAIN as error:
            failures += 1
            if failures == TRIES:
                raise
            tell(f"this attempt was given up: {error.what}")
            job.clock.sleep(job.settings.poll_s)


def _if_you_go_away(job: Job) -> str:
    """Returns what it costs at most to leave the run alone."""
    cluster, limit = job.cluster, job.environment.settings.limits.max_usd_per_hour
    prices = {flavor: price.usd_per_hour for flavor, price in cluster.costs.prices().items()}
    fleet = cluster.capacity.read()
    floors_usd = cluster.costs.floors_usd_per_hour(fleet)
    first = fleet.usd_per_hour(prices) + floors_usd + cluster.costs.head_usd_per_hour
    return going_away(
        job.settings.switch,
        first if limit is None else limit,
        is_limit=limit is not None,
        reaper=cluster.made.outputs.reaper is not None,
    )


def refuse_where_asked(job: Job) -> None:
    """Raises AskedToStopError where a person has asked to end the training."""
    reason = job.asked()
    if reason is not None:
        raise AskedToStopError(reason_in_words(reason), reason=reason)


def _go_on(job: Job, coming_up: ComingUp) -> bool:
    """Does what is next to start the training. Returns whether it was started."""
    actions = coming_up.wait()
    Doer(job.cluster, job.settings.timeouts.configure_s, job.clock.now, job.note).do(actions)
    return actions == (Reached(),) or StartTraining() in actions


def wait_until_up(cluster: LiveCluster, clock: Clock, settings: ControllerSettings, fleet: Fleet) -> None:
    """Waits until a fleet runs, and its nodes and the head answer.

    Raises:
        FlavorsError: Nodes could not be had, or did not answer in time.
        HeadError: The head did not answer in time.
        AwsError: EC2 can't be asked in time.
    """
    ComingUp(cluster, clock, settings, fleet, lambda message: None).wait()


class ComingUp:
    """A fleet that comes up. The wait for it is limited from the moment that this object is made."""

    def __init__(
        self,
        cluster: LiveCluster,
        clock: Clock,
        settings: ControllerSettings,
        fleet: Fleet,
        tell: Callable[[str], None],
    ) -> None:
        self._cluster, self._clock, self._fleet, self._tell = cluster, clock, fleet, tell
        self._limits = move_limits(settings)
        self._since = clock.now()

    def wait(self) -> Sequence[Action]:
        """Waits until the fleet runs and answers. Returns the actions that come next.

        Raises:
            FlavorsError: Nodes could not be had, or did not answer in time.
            HeadError: The head did not answer in time.
            AwsError: EC2 can't be asked in time.
        """
        while True:
            observation, seen = self._look()
            actions = next_actions(Goal(self._fleet, way_back=True), seen)
            [*waits] = [action for action in actions if isinstance(action, Wait)]
            if not waits:
                return actions
            self._check(waits[0], seen, observation)
            self._tell(str(waits[0]))
            self._clock.sleep(self._limits.poll_s)

    def _look(self) -> tuple[Observation, Seen]:
        observation = self._cluster.observe()
        workers = self._cluster.last_workers()
        return observation, see(workers, observation, capacity=None, drain_s=self._limits.drain_s)

    def _check(self, wait: Wait, seen: Seen, observation: Observation) -> None:
        """Raises where the fleet is not worth waiting for any longer."""
        written_at = None if observation.head is None else observation.head.hosts_written_at
        refused: Mapping[str, str] = {}
        if wait.awaited is Awaited.RUNNING:
            refused = self._cluster.launch_failures(wait.missing.present, self._since)
        error = given_up(wait, seen, Times(self._clock.now(), self._since, written_at), self._limits, refused)
        if error is None:
            return
        try:
            self._cluster.workers()
        except AwsError as unreachable:
            raise unreachable from error
        raise error
