"""The simulated world: between two events the training has one pace and the fleet one price."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.domain import (
    SECONDS_PER_HOUR,
    Fleet,
    Market,
    Move,
    MovePhase,
    Observation,
    Price,
    Progress,
)
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import FlavorsNotObtained
from controller.simulate.nodes import Node, Nodes
from controller.simulate.scenario import Scenario

Action = Callable[[], None]


@dataclass(frozen=True)
class Moment:
    """A point of the curves in a plot."""

    at_s: float
    spent_usd: float
    fleet: Fleet
    step: float


class World:
    """Nodes, clock, money and progress of one simulated training."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.rng = random.Random(scenario.seed)
        self.now, self.step, self.spent_usd = 0.0, 0.0, 0.0
        self.paused_until, self.steady_since_step = 0.0, 0.0
        self.usd_per_hour = {flavor.name: flavor.usd_per_hour for flavor in scenario.flavors}
        self.nodes = Nodes(scenario, self.rng)
        self.moves: list[Move] = []
        self.unavailable: dict[str, float] = {}
        self.moments: list[Moment] = []
        self.has_changed = False
        self._events: list[tuple[float, int, Action]] = []
        self._order = itertools.count()
        for flavor, count in scenario.initial.present.items():
            for _ in range(count):
                self._join(self.nodes.start(scenario.flavor(flavor)))
        for change in scenario.price_changes:
            self.at(change.at_s, lambda change=change: self._reprice(change.flavor, change.usd_per_hour))  # type: ignore[misc]
        self._note()

    # Time

    def at(self, when: float, action: Action) -> None:
        """Schedules an action."""
        heapq.heappush(self._events, (when, next(self._order), action))

    def run_until(self, when: float) -> None:
        """Lets time pass, with everything that happens meanwhile. It ends early when the training has finished."""
        while self._events and self._events[0][0] <= when and not self.is_finished:
            happens_at, _, action = heapq.heappop(self._events)
            self._advance(happens_at)
            if not self.is_finished:
                action()
        if not self.is_finished:
            self._advance(when)

    @property
    def is_finished(self) -> bool:
        return self.step >= self.scenario.total_steps

    def step_time_s(self) -> float:
        """Returns the seconds of a step at the present pace; inf when no node works."""
        speed = sum(node.tokens_per_s for node in self.nodes.working)
        if not speed:
            return math.inf
        size = len(self.nodes.working)
        return self.scenario.tokens_per_step / speed + self.scenario.communication.seconds(size)

    def remaining_s(self) -> float:
        """Returns how long the rest of the work takes at the present pace."""
        return (self.scenario.total_steps - self.step) * self.step_time_s()

    def _advance(self, when: float) -> None:
        """Advances training and costs to a moment before which nothing happens, in pieces of one pace each."""
        while self.now < when and not self.is_finished:
            until = min([when, *self._paces_end()])
            pays_s, step_s = until - self.now, self.step_time_s()
            works_s = max(0.0, until - max(self.now, self.paused_until))
            if works_s / step_s >= self.scenario.total_steps - self.step:
                works_s = (self.scenario.total_steps - self.step) * step_s
                pays_s = max(self.now, self.paused_until) + works_s - self.now
                self.step = float(self.scenario.total_steps)
            else:
                self.step += works_s / step_s
            for node in self.nodes.working:
                node.worked_s += works_s
            self.spent_usd += self._usd_per_s() * pays_s
            self.now += pays_s
        if self.is_finished:
            self._note()

    def _paces_end(self) -> list[float]:
        """Returns when the pace changes by itself: a pause ends, or the credits of a node are spent."""
        ends = [self.paused_until] if self.paused_until > self.now else []
        begins = max(self.now, self.paused_until)
        for node in self.nodes.working:
            left_s = node.credits_s - node.worked_s
            if left_s > 1e-6:
                ends.append(begins + left_s)
            elif left_s > 0:
                node.worked_s = node.credits_s
        return ends

    def _usd_per_s(self) -> float:
        nodes = sum(self.usd_per_hour[node.flavor.name] for node in self.nodes.all)
        return (nodes + self.scenario.head_usd_per_hour) / SECONDS_PER_HOUR

    # What happens

    def _note(self) -> None:
        self.moments.append(Moment(self.now, self.spent_usd, self.nodes.fleet(), self.step))

    def _pause(self) -> None:
        """Changes the membership: the training stands still, and its facts begin anew."""
        self.paused_until = max(self.now, self.paused_until) + self.scenario.pause_s
        self.steady_since_step = self.step
        self._note()

    def _reprice(self, flavor: str, usd_per_hour: float) -> None:
        self.usd_per_hour[flavor] = usd_per_hour
        self.has_changed = True
        self._note()

    def _join(self, node: Node) -> None:
        """Lets a node begin to work, and draws the interruption of a spot node."""
        node.works, node.is_member, node.first_step = True, True, self.step
        rate = node.flavor.interruptions_per_hour
        if rate > 0:
            self.at(self.now + self.rng.expovariate(rate) * SECONDS_PER_HOUR, lambda: self._interrupt(node))

    def _interrupt(self, node: Node) -> None:
        """Takes a spot node away. Its group starts another one of its flavor."""
        if node not in self.nodes.all:
            return
        self.nodes.remove(node)
        self._pause()
        if not node.is_member:
            return
        replacement = self.nodes.start(node.flavor)
        replacement.is_member = True
        self.at(self.now + self._boot_s() + self.scenario.configure_s, lambda: self._rejoin(replacement))

    def _rejoin(self, node: Node) -> None:
        if node in self.nodes.all:
            self._join(node)
            self._pause()

    def _boot_s(self) -> float:
        return self.scenario.boot_s * math.exp(self.rng.gauss(0.0, self.scenario.boot_sigma))

    # Moves

    def begin(self, target: Fleet, reason: Reason, is_probe: bool, bad_nodes: tuple[str, ...]) -> None:
        """Begins a move: grow, join, shrink. No node ends before its replacement trains."""
        source = self.nodes.fleet()
        move = Move(len(self.moves) + 1, self.now, source, target, reason, MovePhase.GROWING, is_probe=is_probe)
        self.moves.append(move)
        added = target.beyond(source)
        started = [self.nodes.start(self.scenario.flavor(f)) for f, count in added.items() for _ in range(count)]
        failing = sorted(f for f in added if not self._can_grow(f, target.count(f)))
        if failing:
            self.at(self.now + self._failure_s(failing), lambda: self._roll_back(started, failing))
            return
        boot_s = max((self._boot_s() for _ in started), default=0.0)
        if boot_s > self.scenario.boot_timeout_s:
            slow = sorted(added)
            self.at(self.now + self.scenario.boot_timeout_s, lambda: self._roll_back(started, slow))
            return
        ready_s = boot_s + self.scenario.configure_s if started else 0.0
        self.at(self.now + ready_s, lambda: self._grown(started, target, bad_nodes))

    def _can_grow(self, flavor: str, count: int) -> bool:
        real = self.scenario.flavor(flavor)
        return real.boots and (real.capacity is None or count <= real.capacity)

    def _failure_s(self, failing: list[str]) -> float:
        """Returns after how long a failure shows: a lack of capacity soon, a silent node at its time-out."""
        if all(self.scenario.flavor(flavor).boots for flavor in failing):
            return self.scenario.no_capacity_after_s
        return self.scenario.boot_timeout_s

    def _roll_back(self, started: list[Node], failing: list[str]) -> None:
        for node in started:
            self.nodes.remove(node)
        for flavor in failing:
            self.unavailable[flavor] = self.now + self.scenario.unavailable_s
        self._end(MovePhase.ROLLED_BACK, FlavorsNotObtained(tuple(failing)))

    def _grown(self, started: list[Node], target: Fleet, bad_nodes: tuple[str, ...]) -> None:
        """Lets the new nodes join. Then the nodes that the target does not have drain."""
        for node in started:
            self._join(node)
        if started:
            self._pause()
        leaving: list[Node] = []
        for flavor in self.nodes.fleet().present:
            present = [node for node in self.nodes.members if node.flavor.name == flavor]
            present.sort(key=lambda node: (node.works, node.instance_id not in bad_nodes))
            leaving += present[: max(0, len(present) - target.count(flavor))]
        for node in leaving:
            node.works = node.is_member = False
            self.at(self.now + self.scenario.drain_s, lambda node=node: self._drained(node))  # type: ignore[misc]
        if leaving:
            self._pause()
        self._end(MovePhase.DONE, None)

    def _drained(self, node: Node) -> None:
        if node in self.nodes.all:
            self.nodes.remove(node)

    def _end(self, phase: MovePhase, reason: Reason | None) -> None:
        self.moves[-1] = replace(self.moves[-1], phase=phase, outcome_reason=reason, ended_at=self.now)
        self.has_changed = True
        self._note()

    @property
    def changed_at(self) -> float:
        """The time at which the last move ended, or began if it has not ended; 0 before the first."""
        return (self.moves[-1].ended_at or self.moves[-1].at) if self.moves else 0.0

    @property
    def is_moving(self) -> bool:
        return bool(self.moves) and not self.moves[-1].phase.is_final

    # What the controller sees

    def observation(self) -> Observation:
        """Returns the facts of the moment."""
        return Observation(self.now, self.nodes.fleet(), self.nodes.facts(self.now, self.step, self.steady_since_step))

    def progress(self) -> Progress:
        """Returns how far the training is."""
        steps = int(self.step)
        return Progress(steps, self.scenario.total_steps, int(steps * self.scenario.tokens_per_step), 0.0, self.now)

    def prices(self) -> dict[str, Price]:
        """Returns the prices of the moment."""
        return {
            flavor.name: Price(
                flavor.name, self.usd_per_hour[flavor.name], interruptions_per_hour=flavor.interruptions_per_hour
            )
            for flavor in self.scenario.flavors
        }


def market(is_spot: bool) -> Market:
    """Returns how a simulated flavor is bought."""
    return Market.SPOT if is_spot else Market.ON_DEMAND
