"""The troubles of a scenario, as they happen in its world: drifting speeds, noisy neighbours, spot pools taken back."""

from __future__ import annotations

import math
import random

from controller.domain import SECONDS_PER_HOUR
from controller.simulate.nodes import Node
from controller.simulate.troubles import Outage, Troubles
from controller.simulate.world import World

DRIFT_EVERY_S = 900.0
MOST_NEIGHBOUR_SHARE = 0.9
"""The most that a noisy neighbour leaves of a node's speed."""


def expected_drift(factor: float, ahead_s: float, troubles: Troubles) -> float:
    """Returns the mean factor that a drifting speed, at `factor` now, is expected to have over the time ahead."""
    if not 0 < ahead_s < math.inf:
        return factor
    times = ahead_s / troubles.drift_correlation_s
    return math.exp(math.log(factor) * (1 - math.exp(-times)) / times)


def expected_neighbour_share(troubles: Troubles) -> float:
    """Returns the mean share of its speed that noisy neighbours leave a node."""
    visits = troubles.neighbours_per_hour * troubles.neighbour_s / SECONDS_PER_HOUR
    lost = 1 - (troubles.least_neighbour_share + MOST_NEIGHBOUR_SHARE) / 2
    return 1 - lost * visits / (1 + visits)


class Disturbances:
    """What happens to the nodes of one world. It has random numbers of its own: no decision changes what happens."""

    def __init__(self, world: World) -> None:
        self._world, self._troubles = world, world.scenario.troubles
        self._drifting, self._visiting = (
            random.Random(f"{what} of {world.scenario.seed}") for what in ("drift", "visits")
        )
        self._logs = {flavor.name: 0.0 for flavor in world.scenario.flavors}

    def begin(self) -> None:
        """Schedules what happens whatever runs, and what happens to nodes."""
        if self._troubles.neighbours_per_hour:
            self._world.on_join.append(self._await_neighbour)
            for node in self._world.nodes.working:
                self._await_neighbour(node)
        if self._troubles.drift_sigma:
            self._world.after(DRIFT_EVERY_S, self._drift)
        for outage in self._troubles.outages:
            self._world.at(outage.at_s, lambda outage=outage: self._take_back(outage))  # type: ignore[misc]

    def _await_neighbour(self, node: Node) -> None:
        wait_s = self._visiting.expovariate(self._troubles.neighbours_per_hour) * SECONDS_PER_HOUR
        self._world.after(wait_s, lambda: self._neighbour_comes(node))

    def _drift(self) -> None:
        """Lets each speed make a step of a first-order autoregressive process, which returns to its mean."""
        kept = math.exp(-DRIFT_EVERY_S / self._troubles.drift_correlation_s)
        sigma = self._troubles.drift_sigma * math.sqrt(1 - kept**2)
        self._logs = {flavor: kept * log + self._drifting.gauss(0.0, sigma) for flavor, log in self._logs.items()}
        self._world.nodes.drift({flavor: math.exp(log) for flavor, log in self._logs.items()})
        self._world.after(DRIFT_EVERY_S, self._drift)

    def _neighbour_comes(self, node: Node) -> None:
        if node in self._world.nodes.all:
            node.neighbour_share = self._visiting.uniform(self._troubles.least_neighbour_share, MOST_NEIGHBOUR_SHARE)
            stays_s = self._visiting.expovariate(1 / self._troubles.neighbour_s)
            self._world.after(stays_s, lambda: self._neighbour_goes(node))

    def _neighbour_goes(self, node: Node) -> None:
        node.neighbour_share = 1.0
        self._await_neighbour(node)

    def _take_back(self, outage: Outage) -> None:
        """Takes a share of a pool's nodes away, and closes the pool."""
        self._world.close(outage.flavor, outage.seconds)
        nodes = [node for node in self._world.nodes.all if node.flavor.name == outage.flavor]
        for node in nodes[: math.ceil(outage.share * len(nodes))]:
            self._world.interrupt(node)
