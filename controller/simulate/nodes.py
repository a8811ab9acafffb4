"""The nodes of a simulated fleet, with their speeds and their facts."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from controller.decide.samples.windows import MEDIAN_EFFICIENCY
from controller.domain import Fact, Fleet, TrainingState
from controller.simulate.scenario import Scenario, SimulatedFlavor

BAD_NODE_SPEED = 0.5
ROUNDING_S = 1e-6
MAX_REPORTING_PER_FLAVOR = 64
"""The most nodes of a flavor that report, as all nodes do in life: thousands of similar facts would only take time."""


@dataclass
class Node:
    """One instance."""

    instance_id: str
    flavor: SimulatedFlavor
    factor: float
    """Its speed over its flavor's."""
    credits_s: float
    works: bool = False
    is_member: bool = False
    """Whether the fleet counts it: it works, or replaces a node that did."""
    worked_s: float = 0.0
    first_step: float = 0.0
    """The training's step when it joined."""
    drift: float = 1.0
    """By how much its flavor's speed has drifted."""
    neighbour_share: float = 1.0
    """The share of its speed that a noisy neighbour leaves."""

    @property
    def tokens_per_s(self) -> float:
        """Its speed at the moment, which depends on its CPU credits and on what else happens to it."""
        share = 1.0 if self.worked_s < self.credits_s else self.flavor.baseline_share
        return self.flavor.tokens_per_s * self.factor * share * self.drift * self.neighbour_share

    def work(self, seconds: float) -> bool:
        """Lets it work for so long. Returns whether its credits were spent then, which shows in its facts."""
        had_credits = self.worked_s < self.credits_s
        self.worked_s += seconds
        if had_credits and self.worked_s > self.credits_s - ROUNDING_S:
            self.worked_s = max(self.worked_s, self.credits_s)
            return True
        return False


class Nodes:
    """All nodes that are paid for, working or not."""

    def __init__(self, scenario: Scenario, rng: random.Random) -> None:
        self._scenario, self._rng = scenario, rng
        self._count = 0
        self.all: list[Node] = []
        self.drifts: dict[str, float] = {}
        """By flavor, by how much its speed has drifted; 1 where it is missing."""

    def start(self, flavor: SimulatedFlavor) -> Node:
        """Starts a node, which does not work yet, and returns it."""
        self._count += 1
        is_bad = self._rng.random() < self._scenario.bad_node_share
        factor = math.exp(self._rng.gauss(0.0, self._scenario.node_cv)) * (BAD_NODE_SPEED if is_bad else 1.0)
        node = Node(f"i-{self._count:06d}", flavor, factor, flavor.credits_s, drift=self.drifts.get(flavor.name, 1.0))
        self.all.append(node)
        return node

    def boot_s(self) -> float:
        """Draws how long a node takes to boot."""
        return self._scenario.boot_s * math.exp(self._rng.gauss(0.0, self._scenario.boot_sigma))

    def remove(self, node: Node) -> None:
        """Ends a node, which costs nothing from then on."""
        self.all.remove(node)

    @property
    def members(self) -> list[Node]:
        return [node for node in self.all if node.is_member]

    @property
    def working(self) -> list[Node]:
        return [node for node in self.all if node.works]

    def drift(self, drifts: Mapping[str, float]) -> None:
        """Lets the speeds of flavors drift: by flavor, the factor of its speed."""
        self.drifts = dict(drifts)
        for node in self.all:
            node.drift = drifts[node.flavor.name]

    def fleet(self) -> Fleet:
        """Returns the fleet. Nodes that will replace others are in it."""
        return Fleet.counted(node.flavor.name for node in self.members)

    def facts(self, at: float, step: float, steady_since_step: float) -> tuple[Fact, ...]:
        """Returns the facts of the working nodes, with the noise of a median over the window and a heavy tail."""
        scenario, rng, working = self._scenario, self._rng, self.working
        if not working:
            return ()
        speed, tokens = sum(node.tokens_per_s for node in working), scenario.tokens_at(step)
        step_s = tokens / speed + scenario.communication.seconds(len(working))
        reported: dict[str, int] = {}
        facts = []
        for rank, node in enumerate(working):
            name = node.flavor.name
            reported[name] = reported.get(name, 0) + 1
            steady_steps = step - max(node.first_step, steady_since_step) - scenario.warm_up_steps
            window = int(min(scenario.window, steady_steps))
            if window < 1 or reported[name] > MAX_REPORTING_PER_FLAVOR:
                continue
            noise = rng.gauss(0.0, MEDIAN_EFFICIENCY * scenario.step_cv / math.sqrt(window))
            if rng.random() < scenario.heavy_tail_share:
                noise += rng.uniform(0.0, math.log(3.0))
            share = node.tokens_per_s / speed
            compute_s = tokens / speed * math.exp(noise)
            wait_s = (step_s - tokens / speed) * math.exp(rng.gauss(0.0, 0.03))
            facts.append(
                Fact(
                    instance_id=node.instance_id,
                    flavor=name,
                    rank=rank,
                    world_size=len(working),
                    state=TrainingState.TRAINING,
                    step=int(step),
                    iteration_time_s=tokens / speed + wait_s,
                    compute_time_s=compute_s,
                    samples=None,
                    tokens=tokens * share,
                    window=window,
                    updated_at=at,
                    peak_memory_bytes=scenario.needed_memory_bytes,
                    share=share,
                )
            )
        return tuple(facts)
