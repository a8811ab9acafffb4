"""Doing what was found to be next."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controller.act.cluster import Cluster
from controller.act.reconcile.actions import (
    Action,
    Configure,
    LetGo,
    SetCapacity,
    SetHosts,
    StartTraining,
    StopTraining,
)
from controller.domain import Fleet, Instance
from controller.domain.errors import GuardError, TerraformError
from controller.words.preparing import prepared


class Doer:
    """Does actions on a cluster, one after the other. What fails raises, and what comes after it is not done."""

    def __init__(
        self,
        cluster: Cluster,
        configure_s: float,
        now: Callable[[], float],
        tell: Callable[[str], None],
        before: Callable[[Action], None] = lambda action: None,
    ) -> None:
        """Makes a doer.

        Args:
            cluster: What is acted on.
            configure_s: The time limit of configuring nodes, in seconds.
            now: Returns the time (seconds since the epoch).
            tell: Tells people what is done.
            before: Is told of each action before it is done, and keeps what has to be kept by then.
        """
        self._cluster, self._configure_s, self._now = cluster, configure_s, now
        self._tell, self._before = tell, before

    def do(self, actions: Iterable[Action]) -> None:
        """Does the actions in their order.

        Raises:
            CentavoError: An action failed, for the reasons that its edge has.
        """
        for action in actions:
            self._before(action)
            self._do(action)

    def _do(self, action: Action) -> None:
        if isinstance(action, SetCapacity):
            self._set_capacity(action.fleet)
        elif isinstance(action, Configure):
            self._configure(action)
        elif isinstance(action, SetHosts):
            self._tell(f"the hosts file names {len(action.nodes)} nodes")
            self._cluster.set_hosts(self._instances(action.nodes))
        elif isinstance(action, LetGo):
            self._cluster.lift_protection(self._instances(action.nodes))
        elif isinstance(action, StartTraining):
            self._tell("starting the training")
            self._cluster.start_training()
        elif isinstance(action, StopTraining):
            self._tell("stopping the training")
            self._cluster.stop_training()

    def _set_capacity(self, fleet: Fleet) -> None:
        """Sets the capacity. Where everything is given back and Terraform can't, the groups are told to."""
        try:
            self._cluster.set_capacity(fleet)
        except (GuardError, TerraformError) as error:
            if fleet.size:
                raise
            self._tell(f"Terraform did not give the workers back, so their groups are told to: {error.what}")
            self._cluster.empty_groups()

    def _configure(self, action: Configure) -> None:
        head = " and the head" if action.with_head else ""
        self._tell(f"preparing {len(action.nodes)} nodes{head}")
        nodes, began = self._instances(action.nodes), self._now()
        self._cluster.configure(nodes, self._configure_s, with_head=action.with_head)
        for line in prepared(nodes, began, self._now()):
            self._tell(line)

    def _instances(self, nodes: Iterable[str]) -> list[Instance]:
        wanted = {*nodes}
        return [worker for worker in self._cluster.last_workers() if worker.instance_id in wanted]
