"""The playbooks' effects on the world, and which nodes answer SSH."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from controller.domain import HeadSeen, Instance, NodeSeen
from controller.domain.errors import AnsibleError
from controller.domain.observed.nodes import WorkerState
from controller.edges.ansible import Outcome
from controller.edges.answer import parse_fact_file
from controller.edges.connecting.ssh import SshAccess
from tests.unit.controller.world.calls import Effect
from tests.unit.controller.world.head import Head
from tests.unit.controller.world.node import Node
from tests.unit.controller.world.training import STEP_TOKENS
from tests.unit.controller.world.world import World

SSH_LIMIT_S = 20.0
"""After how long a host that accepts and never answers is given up by a look."""
PLAYBOOK_LIMIT_S = 60.0
"""After how long a playbook is given up where the caller gives no limit."""
PREPARING = {WorkerState.ABSENT, WorkerState.STARTING, WorkerState.LEFT, WorkerState.DEAD}
"""States of a worker's service that site.yml changes."""


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
        """Reads the facts. Hosts that don't answer are in the outcome; one that is frozen takes the whole limit."""
        asked = {i.instance_id for i in instances}
        effect = Effect(lambda: self._facts(asked), limit_s=PLAYBOOK_LIMIT_S)
        return self.world.call("facts", effect, seconds=0.5)  # type: ignore[no-any-return]

    def _facts(self, asked: set[str]) -> Outcome:
        outcome = Outcome()
        hosts = self._asked(asked)
        if any(host.is_frozen for host in hosts):
            self.world.advance(SSH_LIMIT_S)
        for host in hosts:
            why = self.world.why_unreachable(host)
            if why is not None:
                outcome.failures[host.instance_id] = why
            elif isinstance(host, Head):
                self._see_head(outcome)
            else:
                self._see_worker(outcome, host)
        return outcome

    def _see_head(self, outcome: Outcome) -> None:
        head = self.world.head
        written_at = head.hosts_written_at
        outcome.head = HeadSeen(
            self.world.launcher_state(),
            None if head.hosts is None else frozenset(head.hosts),
            None if written_at is None else written_at + self.world.controller_ahead_s,
            head.clock_ahead_s - self.world.controller_ahead_s,
        )
        if self.world.outcome:
            done = {"status": self.world.outcome, "reason": None}
            outcome.local_facts[head.instance_id] = {"training": done}

    def _see_worker(self, outcome: Outcome, node: Node) -> None:
        ahead_s = node.clock_ahead_s - self.world.controller_ahead_s
        outcome.nodes[node.instance_id] = NodeSeen(node.instance_id, node.service, ahead_s)
        fact = self.world.fact(node)
        if fact is not None:
            read = parse_fact_file(json.dumps(fact).encode())
            outcome.local_facts[node.instance_id] = {"iteration": "torn" if node.instance_id in self.torn else read}

    def _asked(self, asked: Iterable[str]) -> list[Head | Node]:
        everyone: list[Head | Node] = [self.world.head, *self.world.nodes]
        return [host for host in everyone if host.instance_id in asked]

    def play(
        self,
        playbook: str,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
    ) -> Outcome:
        """Runs a playbook. Interrupted, site.yml has prepared the first node."""
        self.extra_vars[playbook] = variables
        hosts = list(limit) if limit is not None else [i.instance_id for i in instances]
        limit_s = timeout_s or PLAYBOOK_LIMIT_S
        effect = Effect(
            lambda: self._play(playbook, hosts, variables, limit_s),
            lambda: self._play(playbook, hosts[:1], variables, limit_s) if playbook == "site.yml" else None,
            limit_s,
        )
        before = self._configured()
        self.world.call(playbook, effect, seconds=3)
        return Outcome(changed=len(self._configured() - before))

    def _configured(self) -> set[str]:
        return {node.instance_id for node in self.world.nodes if node.is_configured}

    def _play(self, playbook: str, hosts: list[str], variables: Mapping[str, Any], limit_s: float) -> None:
        self._refuse_unreachable(playbook, [self.world.head], limit_s)
        if playbook == "site.yml":
            self._configure(hosts)
        elif playbook == "hosts.yml":
            self._set_hosts(list(variables["addresses"]))
        elif playbook == "start.yml":
            self.world.is_started = True
        elif playbook == "stop.yml":
            self.world.is_started = False
        elif playbook == "fetch.yml":
            self._fetch(Path(variables["destination"]))

    def _refuse_unreachable(self, playbook: str, hosts: Iterable[Head | Node], limit_s: float) -> None:
        failing = {host.instance_id: host for host in hosts if self.world.why_unreachable(host) is not None}
        if not failing:
            return
        if any(host.is_frozen for host in failing.values()):
            self.world.advance(limit_s)
        said = {instance_id: str(self.world.why_unreachable(host)) for instance_id, host in failing.items()}
        raise AnsibleError(f"{playbook} failed: {said}", "look", hosts=said)

    def _set_hosts(self, addresses: list[str]) -> None:
        known = {node.address for node in self.world.nodes}
        strange = [address for address in addresses if not address.startswith("127.20.1.")]
        if strange:
            self.world.violate(f"the hosts file was given {strange}, which are no addresses; {sorted(known)} are")
        self.world.set_hosts(addresses)

    def _configure(self, hosts: list[str]) -> None:
        """Prepares nodes. Those that fail keep none of the others from being prepared."""
        nodes = [node for node in self.world.nodes if node.instance_id in hosts]
        failing = {node.instance_id: "no space left" for node in nodes if node.flavor in self.world.fails_to_configure}
        reachable = [
            node for node in nodes if self.world.why_unreachable(node) is None and node.instance_id not in failing
        ]
        for node in reachable:
            if node.service in PREPARING:
                node.service = WorkerState.WARM
        if failing:
            raise AnsibleError("site.yml failed", "look", hosts=failing)
        self._refuse_unreachable("site.yml", nodes, PLAYBOOK_LIMIT_S)

    def _fetch(self, destination: Path) -> None:
        if not self.world.head.has_results:
            return
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
                    "restarts": self.world.restarts,
                    "changes": self.world.changes,
                    "replicas_identical": True,
                }
            )
        )
