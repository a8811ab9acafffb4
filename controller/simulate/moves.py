"""The moves of a simulated fleet, with what can go wrong: no capacity, and nodes that boot too slowly or never."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from controller.act.backoff import backoff_s, failures_to_grow, longest_s
from controller.domain import Fleet, Move, MovePhase
from controller.domain.move import MovePart
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import FlavorsNotObtained
from controller.simulate.nodes import Node
from controller.simulate.world import World


class Moves:
    """The moves in one world, one at a time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.history: list[Move] = []
        """Oldest first."""
        self.unavailable: dict[str, float] = {}
        """Flavors whose growth failed, with the time until which they count as unavailable."""
        self.durations: dict[MovePart, tuple[float, ...]] = {}
        """How long the parts of moves took, as a controller measures them."""

    def begin(self, target: Fleet, reason: Reason, is_probe: bool, bad_nodes: tuple[str, ...]) -> None:
        """Begins a move: grow, join, shrink. No node ends before its replacement trains."""
        world, scenario = self._world, self._world.scenario
        source, number = world.nodes.fleet(), len(self.history) + 1
        move = Move(number, world.now, source, target, reason, MovePhase.GROWING, is_probe=is_probe)
        self.history.append(move)
        added = target.beyond(source)
        started = [world.nodes.start(scenario.flavor(f)) for f, count in added.items() for _ in range(count)]
        lacking = [f for f in added if not self._can_grow(f, target.count(f))]
        boots_s = {node.instance_id: world.nodes.boot_s() for node in started if node.flavor.name not in lacking}
        late = {node.flavor.name for node in started if boots_s.get(node.instance_id, 0.0) > scenario.boot_timeout_s}
        failing, fails_s = sorted({*lacking, *late}), self._failure_s(lacking, late)
        rest = move.without(failing) if failing else move
        if rest is None:
            world.after(fails_s, lambda: self._roll_back(started, failing))
            return
        coming = [node for node in started if node.flavor.name not in failing]
        boot_s = max((boots_s[node.instance_id] for node in coming), default=0.0)
        if failing:
            left_out = [node for node in started if node not in coming]
            world.after(fails_s, lambda: self._go_on(rest, left_out, failing))
        elif coming:
            self._measured(MovePart.BOOT, boot_s)
        if coming:
            self._measured(MovePart.CONFIGURE, scenario.configure_s)
        ready_s = max(boot_s, fails_s) + scenario.configure_s if coming else 0.0
        world.after(ready_s, lambda: self._grown(coming, rest.target, bad_nodes))

    def _measured(self, part: MovePart, seconds: float) -> None:
        self.durations[part] = (*self.durations.get(part, ()), seconds)

    def _can_grow(self, flavor: str, count: int) -> bool:
        real = self._world.scenario.flavor(flavor)
        has_capacity = real.capacity is None or count <= real.capacity
        return real.boots and has_capacity and self._world.is_open(flavor)

    def _failure_s(self, lacking: Collection[str], late: Collection[str]) -> float:
        """Returns after how long failures show: a lack of capacity soon, a silent node at its time-out."""
        scenario = self._world.scenario
        if late or not all(scenario.flavor(flavor).boots for flavor in lacking):
            return scenario.boot_timeout_s
        return scenario.no_capacity_after_s if lacking else 0.0

    def _go_on(self, rest: Move, left_out: list[Node], failing: list[str]) -> None:
        """Lets a probe go on without the flavors that could not be had."""
        self._give_back(left_out, failing)
        self.history[-1] = rest

    def _roll_back(self, started: list[Node], failing: list[str]) -> None:
        self._give_back(started, failing)
        self._end(MovePhase.ROLLED_BACK, FlavorsNotObtained(tuple(failing)))

    def _give_back(self, nodes: list[Node], failing: list[str]) -> None:
        scenario = self._world.scenario
        for node in self._still_there(nodes):
            self._world.nodes.remove(node)
        for flavor in failing:
            failures, most_s = failures_to_grow(flavor, self.history) + 1, longest_s([scenario.flavor(flavor).market])
            self.unavailable[flavor] = self._world.now + backoff_s(scenario.unavailable_s, failures, most_s)

    def _grown(self, started: list[Node], target: Fleet, bad_nodes: tuple[str, ...]) -> None:
        """Lets the new nodes join. Then the nodes that the target does not have drain."""
        for node in self._still_there(started):
            self._world.join(node)
        if started:
            self._world.pause()
        self._world.goal = target
        leaving: list[Node] = []
        for flavor in self._world.nodes.fleet().present:
            present = [node for node in self._world.nodes.members if node.flavor.name == flavor]
            present.sort(key=lambda node: (node.works, node.instance_id not in bad_nodes))
            leaving += present[: max(0, len(present) - target.count(flavor))]
        for node in leaving:
            node.works = node.is_member = False
            self._world.after(self._world.scenario.drain_s, lambda node=node: self._drained(node))  # type: ignore[misc]
        if leaving:
            self._world.pause()
        self._end(MovePhase.DONE, None)

    def _still_there(self, nodes: list[Node]) -> list[Node]:
        """Returns the nodes that were not taken back meanwhile."""
        present = {node.instance_id for node in self._world.nodes.all}
        return [node for node in nodes if node.instance_id in present]

    def _drained(self, node: Node) -> None:
        if node in self._world.nodes.all:
            self._world.nodes.remove(node)

    def _end(self, phase: MovePhase, reason: Reason | None) -> None:
        self.history[-1] = replace(self.history[-1], phase=phase, outcome_reason=reason, ended_at=self._world.now)
        self._world.has_changed = True
        self._world.note()

    @property
    def changed_at(self) -> float:
        """The time at which the last move ended, or began if it has not ended; 0 before the first."""
        return self.history[-1].changed_at if self.history else 0.0

    @property
    def is_under_way(self) -> bool:
        """Whether the last move has not ended."""
        return bool(self.history) and not self.history[-1].phase.is_final
