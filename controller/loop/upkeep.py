"""Keeping the fleet that trains whole: nodes that EC2 replaced come in, those that are gone leave the hosts file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from controller.act.aside import Aside
from controller.act.doing import Doer
from controller.act.reconcile.actions import Reached, Wait
from controller.act.reconcile.next_actions import next_actions
from controller.act.reconcile.seeing import see
from controller.domain import NoticeKind, Observation
from controller.domain.errors import AnsibleError
from controller.domain.goal import Goal
from controller.loop.job import Job


class Upkeep:
    """Keeps the fleet that the capacity file asks for training."""

    def __init__(
        self,
        job: Job,
        aside: Aside,
        dropped: Callable[[], Collection[str]],
        noticed: Callable[[], Mapping[str, NoticeKind]],
    ) -> None:
        self._job, self._aside, self._dropped, self._noticed = job, aside, dropped, noticed

    def go_on(self, observation: Observation) -> bool:
        """Does what is to be done for the present fleet. Returns whether there was anything."""
        cluster, timeouts = self._job.cluster, self._job.settings.timeouts
        wanted = cluster.capacity.last
        if not wanted.size:
            return False
        seen = see(
            cluster.last_workers(),
            observation,
            capacity=None,
            drain_s=timeouts.drain_s,
            aside=self._aside.now(),
            dropped=self._dropped(),
            noticed=self._noticed(),
        )
        actions = [a for a in next_actions(Goal(wanted), seen) if not isinstance(a, (Wait, Reached))]
        try:
            Doer(cluster, timeouts.configure_s, self._job.clock.now, self._job.note).do(actions)
        except AnsibleError as error:
            for node, said in error.hosts.items():
                self._aside.put([node], said)
            raise
        return bool(actions)
