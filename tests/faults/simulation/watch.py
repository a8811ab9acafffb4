"""What is watched while a run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.unit.controller.world import World

PATIENCE_S = 75.0
"""Twice the longest time that nodes have to boot, join or leave, and a look: a remedy may need a second one."""
AT_REST_S = 60.0
"""After so long without any trouble or change everything has to agree."""


class EndlessError(BaseException):
    """The run takes far longer than it may: nothing catches this."""


@dataclass
class Watch:
    """Notices when a run is stuck, and whether everything agrees when nothing is left to do.

    Attributes:
        is_troubled: Whether a fault still goes on.
        latest: When the run must have ended.
        has_begun: Whether the first fault has happened.
        has_happened: Whether all faults have happened.
        heal_passes: How many passes there were from the first fault's beginning until all of them were over and every
            paid node trained, or the run had ended with none.
        stuck_passes: The most passes in a row that changed nothing although something was left to do.
        stuck_on: What was left to do then.
        disagreements: What did not agree at rest.
    """

    world: World
    capacity_file: Path
    is_troubled: Callable[[], bool]
    latest: float
    has_begun: Callable[[], bool]
    has_happened: Callable[[], bool]
    heal_passes: int = 0
    stuck_passes: int = 0
    stuck_on: str = ""
    disagreements: list[str] = field(default_factory=list)
    _state: tuple[Any, ...] = ()
    _unchanged_since: float = 0.0
    _looks: int = 0
    _calls_before: int | None = None
    _is_healed: bool = False
    _step: float = -1.0
    _at_rest_since: float | None = None

    def tick(self, seconds: float) -> None:
        """Looks at the world after a second."""
        world = self.world
        if world.now > self.latest:
            raise EndlessError
        undone = self._undone()
        self._step = world.step
        state = self._summary()
        if self.is_troubled() or state != self._state or not undone:
            self._state, self._unchanged_since = state, world.now
            self._looks = len(world.calls)
        elif world.now - self._unchanged_since > PATIENCE_S:
            self._count(undone)
        else:
            self._looks = len(world.calls)
        self._check_rest(undone)
        self._count_healing(undone)

    def _count(self, undone: str) -> None:
        passes = self.world.calls[self._looks :].count("facts")
        if passes > self.stuck_passes:
            self.stuck_passes, self.stuck_on = passes, undone

    def _count_healing(self, undone: str) -> None:
        if self._is_healed or not self.has_begun():
            return
        if self._calls_before is None:
            self._calls_before = len(self.world.calls)
        self.heal_passes = self.world.calls[self._calls_before :].count("facts")
        self._is_healed = self.has_happened() and not self.is_troubled() and not undone

    def _undone(self) -> str:
        """Returns what is left to do; empty where every paid node trains."""
        world = self.world
        if world.outcome:
            return f"{world.fleet()} run after the end" if world.nodes else ""
        if not world.is_up:
            return ""
        idle = [node.instance_id for node in world.nodes if not node.is_rank]
        if idle:
            return f"{', '.join(idle)} cost money and take no part"
        if world.is_started and world.nodes and world.step <= self._step:
            return "the training makes no step"
        return ""

    def _summary(self) -> tuple[Any, ...]:
        world, head = self.world, self.world.head
        nodes = tuple(
            (node.instance_id, node.is_in_service, node.is_protected, node.service, node.is_rank, node.back_at)
            for node in world.nodes
        )
        launcher = (head.is_launching, head.is_lost, head.hosts)
        return (nodes, tuple(world.desired.items()), launcher, world.outcome, world.restarts)

    def _check_rest(self, undone: str) -> None:
        world = self.world
        if undone or self.is_troubled() or world.outcome or not world.is_started:
            self._at_rest_since = None
            return
        self._at_rest_since = self._at_rest_since or world.now
        is_long = world.now - self._at_rest_since >= AT_REST_S and world.now - self._unchanged_since >= AT_REST_S
        if is_long and not self.disagreements:
            self.disagreements += self._disagreements()

    def _disagreements(self) -> list[str]:
        world, found = self.world, []
        running = sorted(node.address for node in world.nodes)
        if sorted(world.hosts) != running:
            found.append(f"the hosts file names {sorted(world.hosts)}, and {running} run")
        asked = json.loads(self.capacity_file.read_text())["capacity"]
        desired = {flavor: count for flavor, count in world.desired.items() if count}
        if {flavor: count for flavor, count in asked.items() if count} != desired:
            found.append(f"the capacity file asks for {asked}, and the groups are set to {desired}")
        return found
