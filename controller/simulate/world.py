"""The simulated world: nodes, clock, money and training. Between two events it has one pace and one price."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from controller.domain import SECONDS_PER_HOUR, Fleet, NoticeKind
from controller.domain.observed.spot import Noticed
from controller.simulate.nodes import Node, Nodes
from controller.simulate.scenario import Scenario, SimulatedFlavor

Action = Callable[[], None]
ROUNDING_STEPS = 1e-6


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
        self.goal = scenario.initial
        """The nodes that the groups keep up."""
        self.closed_until: dict[str, float] = {}
        """By flavor, until when EC2 has no capacity of it."""
        self.taken_back: list[Noticed] = []
        """The nodes of the pools that EC2 has taken back as a whole."""
        self.moments: list[Moment] = []
        self.has_changed = False
        self.on_join: list[Callable[[Node], None]] = []
        """Who is told of each node that begins to work."""
        self._events: list[tuple[float, int, Action]] = []
        self._order = itertools.count()
        for flavor, count in scenario.initial.present.items():
            for _ in range(count):
                self.join(self.nodes.start(scenario.flavor(flavor)))
        for change in scenario.price_changes:
            self.at(change.at_s, lambda change=change: self._reprice(change.flavor, change.usd_per_hour))  # type: ignore[misc]
        self.note()

    # Time

    def at(self, when: float, action: Action) -> None:
        """Schedules an action at a time."""
        heapq.heappush(self._events, (when, next(self._order), action))

    def after(self, seconds: float, action: Action) -> None:
        """Schedules an action so many seconds from now."""
        self.at(self.now + seconds, action)

    def run_until(self, when: float, notice_s: float = math.inf) -> None:
        """Lets time pass, with everything that happens meanwhile. It ends early when the training has finished.

        Args:
            when: Until when.
            notice_s: How long after a change that the controller can see it ends at the latest.
        """
        changed = self.has_changed
        while self.now < when and not self.is_finished:
            happens_at = self._events[0][0] if self._events else math.inf
            self._advance(min(when, happens_at, *self._paces_end()))
            while self._events and self._events[0][0] <= self.now and not self.is_finished:
                heapq.heappop(self._events)[2]()
            if self.has_changed and not changed:
                changed, when = True, min(when, self.now + notice_s)

    @property
    def is_finished(self) -> bool:
        return self.step >= self.scenario.total_steps

    def step_time_s(self) -> float:
        """Returns the seconds of a step at the present pace; inf when no node works."""
        speed = sum(node.tokens_per_s for node in self.nodes.working)
        if not speed:
            return math.inf
        size = len(self.nodes.working)
        return self.scenario.tokens_at(self.step) / speed + self.scenario.communication.seconds(size)

    def remaining_s(self) -> float:
        """Returns how long the rest of the work takes at the present pace."""
        return (self.scenario.total_steps - self.step) * self.step_time_s()

    def _advance(self, until: float) -> None:
        """Advances training and costs to a moment before which nothing happens and the pace is one."""
        pays_s, step_s = until - self.now, self.step_time_s()
        works_s = max(0.0, until - max(self.now, self.paused_until))
        if works_s / step_s >= self.scenario.total_steps - self.step:
            works_s = (self.scenario.total_steps - self.step) * step_s
            pays_s = max(self.now, self.paused_until) + works_s - self.now
            self.step = float(self.scenario.total_steps)
        else:
            self.step = _on_phase(self.step + works_s / step_s, self.scenario.troubles.next_phase(self.step))
        for node in self.nodes.working:
            self.has_changed |= node.work(works_s)
        self.spent_usd += self._usd_per_s * pays_s
        self.now += pays_s
        if self.is_finished:
            self.note()

    def _paces_end(self) -> list[float]:
        """Returns when the pace changes by itself: a pause ends, a phase begins, or the credits of a node are spent."""
        ends = [self.paused_until] if self.paused_until > self.now else []
        begins = max(self.now, self.paused_until)
        for node in self.nodes.working:
            left_s = node.credits_s - node.worked_s
            if left_s > 0:
                ends.append(begins + left_s)
        phase, step_s = self.scenario.troubles.next_phase(self.step), self.step_time_s()
        if phase is not None and math.isfinite(step_s):
            ends.append(begins + (phase - self.step) * step_s)
        return ends

    @property
    def _usd_per_s(self) -> float:
        nodes = sum(self.usd_per_hour[node.flavor.name] for node in self.nodes.all)
        return (nodes + self.scenario.head_usd_per_hour) / SECONDS_PER_HOUR

    # What happens

    def note(self) -> None:
        """Adds the present moment to the curves."""
        self.moments.append(Moment(self.now, self.spent_usd, self.nodes.fleet(), self.step))

    def pause(self) -> None:
        """Changes the membership: the training stands still, and its facts begin anew."""
        self.paused_until = max(self.now, self.paused_until) + self.scenario.pause_s
        self.steady_since_step = self.step
        self.note()

    def _reprice(self, flavor: str, usd_per_hour: float) -> None:
        self.usd_per_hour[flavor] = usd_per_hour
        self.has_changed = True
        self.note()

    def join(self, node: Node) -> None:
        """Lets a node begin to work, and draws what happens to it."""
        node.works, node.is_member, node.first_step = True, True, self.step
        rate = node.flavor.interruptions_per_hour
        if rate > 0:
            self.after(self.rng.expovariate(rate) * SECONDS_PER_HOUR, lambda: self.interrupt(node))
        for told in self.on_join:
            told(node)

    def interrupt(self, node: Node) -> None:
        """Takes a spot node away. Its group starts another one of its flavor, once its pool is open."""
        if node not in self.nodes.all:
            return
        self.nodes.remove(node)
        self.pause()
        if node.is_member and self.is_open(node.flavor.name):
            self._replace(node.flavor)

    def _replace(self, flavor: SimulatedFlavor) -> None:
        """Starts a node of a flavor, which joins by itself."""
        replacement = self.nodes.start(flavor)
        replacement.is_member = True
        self.after(self.nodes.boot_s() + self.scenario.configure_s, lambda: self._rejoin(replacement))

    def _rejoin(self, node: Node) -> None:
        if node in self.nodes.all:
            self.join(node)
            self.pause()

    def is_open(self, flavor: str) -> bool:
        """Tells whether EC2 gives nodes of this flavor at the moment."""
        return self.closed_until.get(flavor, 0.0) <= self.now

    def close(self, flavor: str, seconds: float) -> None:
        """Lets EC2 have no capacity of a flavor for a while. Then its group starts the nodes that it lacks."""
        self.closed_until[flavor] = max(self.now + seconds, self.closed_until.get(flavor, 0.0))
        self.has_changed = True
        lost = [node for node in self.nodes.all if node.flavor.name == flavor]
        self.taken_back += [Noticed(node.instance_id, flavor, NoticeKind.INTERRUPTION, self.now) for node in lost]

        def reopen() -> None:
            if self.is_open(flavor):
                self.has_changed = True
                for _ in range(max(0, self.goal.count(flavor) - self.nodes.fleet().count(flavor))):
                    self._replace(self.scenario.flavor(flavor))

        self.at(self.closed_until[flavor], reopen)


def _on_phase(step: float, phase: int | None) -> float:
    """Returns the step, without the rounding error just before a phase begins."""
    return float(phase) if phase is not None and abs(step - phase) < ROUNDING_STEPS else step
