"""EC2 and its Auto Scaling groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.unit.controller.world.errors import InvariantError
from tests.unit.controller.world.head import Head
from tests.unit.controller.world.node import Node

SAME_FAILURE_S = 10.0
"""A group that can't launch says so about this often."""
SECONDS_PER_HOUR = 3600.0


@dataclass(kw_only=True)
class Groups(ABC):
    """One Auto Scaling group a flavor, and the instances in them.

    Attributes:
        replace_after_s: How long a group takes to notice that an instance is gone.
        capacity_limits: By flavor the most instances that EC2 gives.
        spent_usd: The world's own metering: the price of what runs, integrated over time, from launch to end.
        violations: What happened that must never happen, in order.
        capacities: Every capacity that the groups were asked for, in order.
    """

    flavors: tuple[str, ...]
    prices: Mapping[str, float] = field(default_factory=dict)
    head_usd_per_hour: float = 0.0
    now: float = 1_800_000_000.0
    boot_s: float = 5.0
    replace_after_s: float = 0.0
    capacity_limits: dict[str, int] = field(default_factory=dict)
    desired: dict[str, int] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    head: Head = field(default_factory=Head)
    activities: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    spent_usd: float = 0.0
    most_spent_usd_per_hour: float = 0.0
    violations: list[str] = field(default_factory=list)
    capacities: list[dict[str, int]] = field(default_factory=list)
    outcome: str | None = None
    may_end_ranks: bool = False
    """Whether instances may end that train, as at the end of a run whose launcher can't be stopped."""
    _next: int = 1
    _launch_from: dict[str, float] = field(default_factory=dict)

    def violate(self, what: str) -> None:
        """Keeps and raises that something happened that must never happen."""
        self.violations.append(what)
        raise InvariantError(what)

    def trains(self, node: Node) -> bool:
        """Returns whether a node takes part in a training that goes on."""
        return node.is_rank and self.outcome is None and not self.may_end_ranks

    def set_desired(self, asked: Mapping[str, int]) -> None:
        """Sets the desired capacities of some groups, and refuses to let a training node go."""
        self.capacities.append({**self.desired, **asked})
        for flavor, count in asked.items():
            training = sum(self.trains(node) for node in self.nodes if node.flavor == flavor)
            if count < min(training, self.desired.get(flavor, 0)):
                self.violate(f"the capacity of {flavor} was lowered to {count} while {training} of its nodes train")
        self.desired.update(asked)
        self.scale()

    def scale(self) -> None:
        """Makes the groups what is desired, as far as there is capacity and protection allows."""
        for flavor, desired in self.desired.items():
            own = [node for node in self.nodes if node.flavor == flavor]
            if self.now >= self._launch_from.get(flavor, 0.0):
                for _ in range(desired - len(own)):
                    self._launch(flavor)
            open_to_scale_in = [node for node in own if node.is_in_service and not node.is_protected]
            for node in open_to_scale_in[: max(0, len(own) - desired)]:
                self._terminate(node)

    def end(self, instance_id: str) -> None:
        """Ends an instance because the controller says so. One that trains, and votes, must not end."""
        for node in self.nodes:
            if node.instance_id == instance_id and self.trains(node) and not node.is_hung:
                self.violate(f"{instance_id} ({node.flavor}) was ended while it took part in the training")
        self.lose(instance_id)

    def lose(self, instance_id: str) -> None:
        """Loses an instance, as by a failure of its machine; its group makes another."""
        lost = [node for node in self.nodes if node.instance_id == instance_id]
        for node in lost:
            self._launch_from[node.flavor] = self.now + self.replace_after_s
            self.rank_fails(node)
            self.nodes.remove(node)
        self.scale()

    @abstractmethod
    def rank_fails(self, node: Node) -> None:
        """Ends the rank of a node without notice."""

    def runs(self, node: Node) -> bool:
        """Returns whether EC2 says that an instance runs."""
        return self.now >= node.launched_at + self.boot_s

    def fleet(self) -> dict[str, int]:
        """Returns the instances by flavor."""
        counts = {flavor: sum(node.flavor == flavor for node in self.nodes) for flavor in self.flavors}
        return {flavor: count for flavor, count in counts.items() if count}

    def usd_per_hour(self) -> float:
        """Returns what runs now costs an hour, head included."""
        head = 0.0 if self.head.is_lost else self.head_usd_per_hour
        return head + sum(self.prices.get(node.flavor, 0.0) for node in self.nodes)

    def _pass_time(self, seconds: float) -> None:
        usd_per_hour = self.usd_per_hour()
        self.spent_usd += usd_per_hour * seconds / SECONDS_PER_HOUR
        self.most_spent_usd_per_hour = max(self.most_spent_usd_per_hour, usd_per_hour)
        for node in list(self.nodes):
            if not node.is_in_service and self.runs(node):
                node.is_in_service = node.is_protected = True
            if node.ends_at is not None and self.now >= node.ends_at:
                self.lose(node.instance_id)
        self.scale()

    def _launch(self, flavor: str) -> None:
        if sum(node.flavor == flavor for node in self.nodes) >= self.capacity_limits.get(flavor, 10_000):
            told = self.activities.setdefault(flavor, [])
            if not told or self.now - told[0][0] >= SAME_FAILURE_S:
                told.insert(0, (self.now, f"insufficient capacity for {flavor}"))
            return
        self.nodes.append(Node(f"i-{self._next:04}", flavor, f"127.20.1.{self._next}", self.now))
        self._next += 1

    def _terminate(self, node: Node) -> None:
        self.nodes.remove(node)
        if self.trains(node):
            self.violate(f"{node.instance_id} ({node.flavor}) ended while it took part in the training")
