"""Waiting for capacity on the spot market."""

from __future__ import annotations

from dataclasses import replace

from controller.act.doing import Doer
from controller.act.reconcile.actions import LetGo, SetCapacity
from controller.act.reconcile.next_actions import next_actions
from controller.act.reconcile.seeing import see
from controller.domain import Fleet, LauncherState, Observation
from controller.domain.goal import Goal
from controller.domain.observed.spot import Shortage, SpotSettings
from controller.domain.reasons.spot import WaitsForCapacity
from controller.loop.job import Job
from controller.loop.spot.notices import Notices
from controller.loop.spot.pools import Pools
from controller.words.once import Once
from controller.words.reasons import reason_in_words


class Waiting:
    """The waits of one run, in which the groups ask EC2 for what is lacking."""

    def __init__(self, job: Job, settings: SpotSettings, pools: Pools, notices: Notices) -> None:
        self._job, self._settings, self._pools, self._notices = job, settings, pools, notices
        self._note_once = Once(job.note)

    def wait(
        self, short: Shortage, lasting: Fleet, observation: Observation, on_demand_at: float | None = None
    ) -> None:
        """Waits for capacity, with the groups asking for it.

        Args:
            short: The shortage.
            lasting: The nodes that EC2 does not take back.
            observation: The present one.
            on_demand_at: When the deadline asks for on-demand at the latest; None where it does not.
        """
        job, now = self._job, self._job.clock.now()
        if not self._is_lacking(short):
            self.settle()  # all nodes are there, and were only recommended to be replaced
            job.journal.set_shortage(None)
            return
        is_stopped = short.is_stopped or self._stop_launcher(observation)
        short = replace(short, waiting_since=short.waiting_since or now, is_stopped=is_stopped)
        if short != job.journal.shortage():
            job.journal.set_shortage(short)
        reason = self._waits(short, lasting, on_demand_at)
        if reason != job.journal.waiting():
            job.journal.set_waiting(reason)
        self._note_once(reason_in_words(reason))
        self.ask(short, lasting, observation)

    def _is_lacking(self, short: Shortage) -> bool:
        workers = {worker.instance_id for worker in self._job.cluster.last_workers()}
        return len(workers - self._notices.interrupted()) < short.wanted.size

    def _waits(self, short: Shortage, lasting: Fleet, on_demand_at: float | None) -> WaitsForCapacity:
        lacking = lacking_of(short, lasting)
        since = short.waiting_since or short.since
        if on_demand_at is not None:
            return WaitsForCapacity(lacking, lasting.size, since, float(round(on_demand_at)))
        falls_back = self._settings.on_demand_fallback and self._pools.has_on_demand
        return WaitsForCapacity(lacking, lasting.size, since, since + self._settings.wait_s if falls_back else None)

    def _stop_launcher(self, observation: Observation) -> bool:
        """Stops the launcher where no node is left: it would give up after a while. Returns whether it is stopped."""
        head = observation.head
        if self._job.cluster.last_workers() or head is None:
            return False
        if head.launcher is LauncherState.RUNNING:
            self._job.note("no node is left: stopping the launcher until there is capacity")
            self._job.cluster.stop_training()
        return head.launcher is not LauncherState.ENDED

    def ask(self, short: Shortage, lasting: Fleet, observation: Observation) -> None:
        """Lets the groups ask EC2 for what is lacking, in the pools that they ask already or in the best ones."""
        cluster, timeouts = self._job.cluster, self._job.settings.timeouts
        count = short.wanted.size - lasting.size
        present = Fleet.counted(worker.flavor for worker in cluster.last_workers())
        taken = some(short.wanted.beyond(lasting), count) if count > 0 else present.beyond(lasting)
        best = self._pools.best(lasting, max(0, count))
        target = lasting.plus(best if best.size >= count else taken)
        seen = see(
            cluster.last_workers(),
            observation,
            capacity=cluster.desired(),
            drain_s=timeouts.drain_s,
            noticed=self._notices.noticed(),
        )
        actions = next_actions(Goal(target, lasting.plus(taken), way_back=True, taken=taken), seen)
        capacity = [action for action in actions if isinstance(action, (LetGo, SetCapacity))]
        Doer(cluster, timeouts.configure_s, self._job.clock.now, self._job.note).do(capacity)

    def settle(self) -> None:
        """Lets the groups ask for the nodes that there are, where a move was given up that asked for more."""
        cluster = self._job.cluster
        present = Fleet.counted(worker.flavor for worker in cluster.last_workers())
        if cluster.capacity.last != present:
            cluster.set_capacity(present)


def lacking_of(short: Shortage, lasting: Fleet) -> Fleet:
    """Returns as many of the nodes that were wanted as are lacking."""
    return some(short.wanted.beyond(lasting), short.wanted.size - lasting.size)


def some(fleet: Fleet, count: int) -> Fleet:
    """Returns at most so many nodes of a fleet."""
    nodes = [flavor for flavor, number in fleet.present.items() for _ in range(number)]
    return Fleet.counted(nodes[:count])
