"""A small world behind the controller's four edges: EC2, Terraform, Ansible and SSH, and a training that goes on.

Its clock moves only when the controller waits or acts, so that hours pass in milliseconds. It can fail or be "killed"
at any call, and it refuses what must never happen: an instance that ends while it takes part in the training.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from controller.domain import Instance
from controller.domain.errors import AnsibleError, CentavoError
from controller.edges.ansible import Outcome
from controller.edges.ssh import SshAccess
from controller.edges.terraform import FlavorOutput, HeadOutput, Outputs, Plan

HEAD_ID = "i-head"
MAX_NODES = 12
STEP_TOKENS = 600


class KilledError(BaseException):
    """The controller dies here, as by kill -9: nothing catches this."""


class InvariantError(AssertionError):
    """Something happened in the world that a controller must never let happen."""


@dataclass
class Node:
    """An instance as the world has it."""

    instance_id: str
    flavor: str
    address: str
    launched_at: float
    is_protected: bool = True
    is_configured: bool = False
    joined_at: float | None = None


@dataclass
class World:
    """Everything outside of the controller."""

    flavors: tuple[str, ...]
    speeds: Mapping[str, float]
    total_steps: int = 400
    boot_s: float = 5.0
    join_s: float = 2.0
    now: float = 1_800_000_000.0
    is_up: bool = False
    capacity_limits: dict[str, int] = field(default_factory=dict)
    image_id: str = "ami-1"
    never_answers: set[str] = field(default_factory=set)
    never_joins: set[str] = field(default_factory=set)
    fails_to_configure: set[str] = field(default_factory=set)
    desired: dict[str, int] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    activities: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    is_started: bool = False
    step: float = 0.0
    changes: list[dict[str, Any]] = field(default_factory=list)
    outcome: str | None = None
    calls: list[str] = field(default_factory=list)
    kill_at: tuple[int, str] | None = None
    """Die at this call, `before` or `after` it has had its effect."""
    failures: dict[str, list[CentavoError]] = field(default_factory=dict)
    """Errors to raise by the next calls of a name, one each."""
    max_world_size: int = 0
    _next: int = 1

    def call(self, name: str, effect: Any, seconds: float = 0.0) -> Any:
        """One call over an edge: counted, timed, and perhaps failing or fatal."""
        number = len(self.calls)
        self.calls.append(name)
        self.advance(seconds)
        if self.kill_at == (number, "before"):
            raise KilledError
        if self.failures.get(name):
            raise self.failures[name].pop(0)
        result = effect()
        if self.kill_at == (number, "after"):
            raise KilledError
        return result

    # time

    def advance(self, seconds: float) -> None:
        """Lets time pass; the training does as many steps as its ranks can."""
        while seconds > 0:
            tick, seconds = min(1.0, seconds), seconds - 1.0
            self.now += tick
            self._train(tick)

    def _train(self, seconds: float) -> None:
        ranks = self.ranks()
        if not self.is_started or self.outcome or not ranks:
            return
        self.step += seconds / self.step_s()
        if self.step >= self.total_steps:
            self.outcome = "finished"

    def step_s(self) -> float:
        """Seconds of a step with batches in proportion to speed."""
        return STEP_TOKENS / sum(self.speeds[node.flavor] for node in self.ranks())

    # EC2

    def scale(self) -> None:
        """Makes the groups what is desired, as far as there is capacity and protection allows."""
        for flavor, desired in self.desired.items():
            own = [node for node in self.nodes if node.flavor == flavor]
            for _ in range(desired - len(own)):
                self._launch(flavor)
            for node in [node for node in own if not node.is_protected][: max(0, len(own) - desired)]:
                self._terminate(node)

    def _launch(self, flavor: str) -> None:
        if sum(node.flavor == flavor for node in self.nodes) >= self.capacity_limits.get(flavor, 10_000):
            self.activities.setdefault(flavor, []).insert(0, (self.now, f"insufficient capacity for {flavor}"))
            return
        self.nodes.append(Node(f"i-{self._next:04}", flavor, f"127.20.1.{self._next}", self.now))
        self._next += 1

    def _terminate(self, node: Node) -> None:
        if node.address in self.hosts and self.is_started and not self.outcome:
            raise InvariantError(f"{node.instance_id} ({node.flavor}) ended while it took part in the training")
        self.nodes.remove(node)

    def lose(self, instance_id: str) -> None:
        """An instance dies by itself; its group makes another."""
        self.nodes = [node for node in self.nodes if node.instance_id != instance_id]
        self.scale()

    def runs(self, node: Node) -> bool:
        return self.now >= node.launched_at + self.boot_s

    def fleet(self) -> dict[str, int]:
        counts = {flavor: sum(node.flavor == flavor for node in self.nodes) for flavor in self.flavors}
        return {flavor: count for flavor, count in counts.items() if count}

    # the training

    def ranks(self) -> list[Node]:
        """The nodes that train now."""
        return [
            node
            for node in self.nodes
            if node.address in self.hosts
            and node.is_configured
            and node.joined_at is not None
            and self.now >= node.joined_at + self.join_s
        ]

    def set_hosts(self, addresses: list[str]) -> None:
        before = len(self.hosts)
        stay = [node for node in self.ranks() if node.address in addresses]
        if self.is_started and not self.outcome and self.hosts and not stay:
            raise InvariantError("no rank is left of those that know the parameters")
        for node in self.nodes:
            if node.address not in addresses or node.instance_id in self.never_joins:
                node.joined_at = None
            elif node.joined_at is None:
                node.joined_at = self.now
        if self.is_started and addresses != self.hosts:
            self.changes.append(
                {
                    "at": iso(self.now + self.join_s),
                    "from_size": before,
                    "to_size": len(addresses),
                    "pause_s": 1.5,
                    "steps_lost": 0,
                }
            )
        self.hosts = list(addresses)
        self.max_world_size = max(self.max_world_size, len(addresses))

    def fact(self, node: Node) -> dict[str, Any] | None:
        """The node's iteration fact; none while it does not train."""
        ranks = self.ranks()
        if not self.is_started or node not in ranks:
            return None
        total = sum(self.speeds[other.flavor] for other in ranks)
        tokens = STEP_TOKENS * self.speeds[node.flavor] / total
        return {
            "schema": 1,
            "instance_id": node.instance_id,
            "flavor": node.flavor,
            "rank": ranks.index(node),
            "world_size": len(ranks),
            "state": "finished" if self.outcome == "finished" else "training",
            "step": int(self.step),
            "iteration_time_s": self.step_s(),
            "compute_time_s": tokens / self.speeds[node.flavor] * 0.9,
            "samples": 16.0,
            "tokens": tokens,
            "window": min(50, int(self.step)),
            "peak_memory_bytes": 1 << 29,
            "updated_at": iso(self.now),
            "reason": None,
            "total_steps": self.total_steps,
            "total_tokens": int(self.step) * STEP_TOKENS,
            "loss": 3.0,
            "share": tokens / STEP_TOKENS,
            "emulated_speed": None,
            "last_change": self.changes[-1] if self.changes else None,
        }


def iso(at: float) -> str:
    """A time as the trainer writes it."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class WorldClock:
    """The world's clock; waiting lets the world go on."""

    def __init__(self, world: World, stop_after: float | None = None) -> None:
        self.world, self.stop_after = world, stop_after

    def now(self) -> float:
        return self.world.now

    def sleep(self, seconds: float) -> None:
        self.world.call("sleep", lambda: self.world.advance(max(0.5, seconds)))


class WorldTerraform:
    """Plans and applies the capacity file of the world."""

    def __init__(self, world: World, capacity_file: Path) -> None:
        self.world, self.capacity_file = world, capacity_file
        self.extra_changes: list[dict[str, Any]] = []

    def init(self) -> None:
        self.world.call("init", lambda: None)

    def plan(self, file: Path, *, destroy: bool = False, read: bool = True) -> Plan:
        return self.world.call("plan", lambda: self._plan(file), seconds=4)  # type: ignore[no-any-return]

    def _plan(self, file: Path) -> Plan:
        wanted = json.loads(self.capacity_file.read_text())["capacity"]
        changes = [
            self._change(flavor, wanted[flavor])
            for flavor in self.world.flavors
            if wanted.get(flavor, 0) != self.world.desired.get(flavor, 0)
        ] + self.extra_changes
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(wanted))
        return Plan(file, bool(changes) or not self.world.is_up, {"resource_changes": changes})

    def _change(self, flavor: str, wanted: int) -> dict[str, Any]:
        before = {"name": f"c-{flavor}", "desired_capacity": self.world.desired.get(flavor, 0), "max_size": MAX_NODES}
        return {
            "address": f'module.flavor["{flavor}"].aws_autoscaling_group.this',
            "type": "aws_autoscaling_group",
            "mode": "managed",
            "change": {
                "actions": ["update"],
                "before": before,
                "after": {**before, "desired_capacity": wanted},
                "after_unknown": {},
            },
        }

    def apply(self, file: Path) -> None:
        self.world.call("apply", lambda: self._apply(file), seconds=6)

    def _apply(self, file: Path) -> None:
        self.world.is_up = True
        self.world.desired = {flavor: json.loads(file.read_text()).get(flavor, 0) for flavor in self.world.flavors}
        self.world.scale()

    def outputs(self) -> Outputs | None:
        if not self.world.is_up:
            return None
        return Outputs(
            "c",
            "us-east-1",
            "bucket",
            HeadOutput(HEAD_ID, "127.20.0.10", None, "t3.small"),
            {flavor: FlavorOutput(f"c-{flavor}", "on-demand", MAX_NODES, 2, 4 << 30) for flavor in self.world.flavors},
        )


class WorldAws:
    """EC2 and Auto Scaling of the world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def instances(self, cluster: str) -> tuple[Instance, ...]:
        return self.world.call("instances", self._instances)  # type: ignore[no-any-return]

    def _instances(self) -> tuple[Instance, ...]:
        self.world.scale()
        head = Instance(HEAD_ID, "t3.small", "head", "running", "127.20.0.10", image_id=self.world.image_id)
        return (
            head,
            *(
                Instance(
                    n.instance_id,
                    n.flavor,
                    "worker",
                    "running" if self.world.runs(n) else "pending",
                    n.address,
                    None,
                    n.launched_at,
                )
                for n in self.world.nodes
            ),
        )

    def failures(self, group: str, since: float) -> tuple[str, ...]:
        found = self.world.activities.get(group.removeprefix("c-"), [])
        return tuple(reason for at, reason in found if at >= since)

    def desired(self, groups: Iterable[str]) -> dict[str, int]:
        return self.world.call(  # type: ignore[no-any-return]
            "desired", lambda: {group: self.world.desired.get(group.removeprefix("c-"), 0) for group in groups}
        )

    def empty(self, groups: Iterable[str]) -> None:
        self.world.call("empty", self._empty)

    def _empty(self) -> None:
        self.world.desired = dict.fromkeys(self.world.flavors, 0)
        self.world.scale()

    def set_protection(self, group: str, instance_ids: Iterable[str], *, protected: bool) -> None:
        self.world.call("protection", lambda: self._protect(set(instance_ids), protected))

    def _protect(self, instance_ids: set[str], protected: bool) -> None:
        for node in self.world.nodes:
            if node.instance_id in instance_ids:
                node.is_protected = protected


class WorldAnsible:
    """The playbooks' effects on the world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.torn: set[str] = set()
        self.extra_vars: dict[str, Mapping[str, Any]] = {}

    def read_local_facts(
        self,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
    ) -> Outcome:
        return self.world.call(  # type: ignore[no-any-return]
            "facts", lambda: self._facts({i.instance_id for i in instances}), seconds=0.5
        )

    def _facts(self, asked: set[str]) -> Outcome:
        outcome = Outcome()
        for node in self.world.nodes:
            if node.instance_id in asked and (fact := self.world.fact(node)) is not None:
                outcome.local_facts[node.instance_id] = {"iteration": "torn" if node.instance_id in self.torn else fact}
        if self.world.outcome:
            outcome.local_facts[HEAD_ID] = {"training": {"status": self.world.outcome, "reason": None}}
        return outcome

    def play(
        self,
        playbook: str,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
    ) -> Outcome:
        self.extra_vars[playbook] = variables
        hosts = list(limit) if limit is not None else [i.instance_id for i in instances]
        self.world.call(playbook, lambda: self._play(playbook, hosts, variables), seconds=3)
        return Outcome()

    def _play(self, playbook: str, hosts: list[str], variables: Mapping[str, Any]) -> None:
        if playbook == "site.yml":
            self._configure(hosts)
        elif playbook == "hosts.yml":
            self.world.set_hosts(list(variables["addresses"]))
        elif playbook == "start.yml":
            self.world.is_started = True
        elif playbook == "stop.yml":
            self.world.is_started = False
        elif playbook == "fetch.yml":
            self._fetch(Path(variables["destination"]))

    def _configure(self, hosts: list[str]) -> None:
        failing = {
            node.instance_id: "no space left"
            for node in self.world.nodes
            if node.instance_id in hosts and node.flavor in self.world.fails_to_configure
        }
        if failing:
            raise AnsibleError("site.yml failed", "look", hosts=failing)
        for node in self.world.nodes:
            node.is_configured = node.is_configured or node.instance_id in hosts

    def _fetch(self, destination: Path) -> None:
        (destination / "scores.json").write_text(
            json.dumps(
                {
                    "steps": int(self.world.step),
                    "tokens": int(self.world.step) * STEP_TOKENS,
                    "final_loss": 1.9,
                    "bleu": 31.4,
                    "exact_match": 0.5,
                    "signature": "s",
                    "steps_lost": 0,
                    "restarts": 0,
                    "changes": self.world.changes,
                    "replicas_identical": True,
                }
            )
        )


def world_answering(world: World) -> Any:
    """Which nodes answer SSH."""

    def answering(access: SshAccess, instances: Iterable[Instance]) -> dict[str, str | None]:
        return {i.instance_id: "refused" if i.flavor in world.never_answers else None for i in instances}

    return answering
