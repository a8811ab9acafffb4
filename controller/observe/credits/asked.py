"""The CPU credits that CloudWatch tells of burstable nodes.

CloudWatch has new figures every five minutes. So often they are asked for, in one call for all nodes, and more often
while there is a node of which nothing was told yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from controller.domain import Credits, Instance
from controller.domain.errors import AwsError
from controller.observe.credits.burstable import burstable

REFRESH_S = 300.0
"""How often CloudWatch has new figures (EC2 User Guide, "CPU credit metrics")."""
NEW_NODES_S = 60.0
"""How often figures are asked for while there is a node without any: its first ones come at any time."""
MOST_NODES = 250
"""Of so many nodes one call gets both figures: GetMetricData takes 500 queries."""


class CreditsPort(Protocol):
    """The part of `edges.account.credits.AwsCredits` that is used here."""

    def credits(self, instance_ids: Sequence[str], now: float) -> Mapping[str, Credits]: ...


class AskedCredits:
    """The credits of the nodes of one cluster.

    Args:
        api: Asks CloudWatch.
        now: Seconds since the epoch.
        tell: Gets notes for people.
    """

    def __init__(self, api: CreditsPort, now: Callable[[], float], tell: Callable[[str], None]) -> None:
        self._api, self._now, self._tell = api, now, tell
        self._asked_at: float | None = None
        self._known: Mapping[str, Credits] = {}
        self._fails = False

    def of(self, workers: Sequence[Instance]) -> dict[str, Credits]:
        """Returns the credits of those workers of which CloudWatch has told some, by instance id.

        Nothing is asked where no burstable node runs. Where CloudWatch can't be asked, what is known stays.
        """
        nodes = [i.instance_id for i in workers if i.is_running and burstable(i.flavor) is not None]
        asked = _spread(nodes)
        patience_s = REFRESH_S if all(node in self._known for node in asked) else NEW_NODES_S
        if nodes and (self._asked_at is None or self._now() - self._asked_at >= patience_s):
            self._asked_at = self._now()
            self._ask(asked)
        return {node: self._known[node] for node in nodes if node in self._known}

    def _ask(self, nodes: Sequence[str]) -> None:
        try:
            self._known = self._api.credits(nodes, self._now())
            self._fails = False
        except AwsError as error:
            if not self._fails:
                self._tell(f"the CPU credits of the nodes are not known: {error.what}")
            self._fails = True


def _spread(nodes: Sequence[str]) -> list[str]:
    """Returns at most `MOST_NODES` of the nodes, evenly from the oldest to the newest."""
    if len(nodes) <= MOST_NODES:
        return [*nodes]
    return [nodes[index * len(nodes) // MOST_NODES] for index in range(MOST_NODES)]
