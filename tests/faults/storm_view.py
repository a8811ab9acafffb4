"""What the storm sees of a job from outside: instances, groups, facts, hosts file and journal."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.support.sandbox import Sandbox

LIVING = ("pending", "running")
BILLED = "running"
FRESH_S = 10.0
"""A rank that has not written its fact for so long does not count as one that trains."""
ENDED_PHASES = ("done", "rolled_back", "refused")


@dataclass(frozen=True)
class View:
    """One look at a job.

    Attributes:
        instances: The instances by their ids, as localcloud shows them.
        desired: How many instances all groups together are asked for.
        ranks: The facts of the workers whose rank trains now, by instance.
        hosts: The addresses in the head's hosts file; None where there is no head or no file.
        values: The journal's values, `stage` and `members` among them.
        phases: The phase of each move in the journal.
        capacity: How many nodes the capacity file asks for.
    """

    at: float
    instances: Mapping[str, Mapping[str, Any]]
    desired: int
    ranks: Mapping[str, Mapping[str, Any]]
    hosts: frozenset[str] | None
    values: Mapping[str, str]
    phases: tuple[str, ...]
    capacity: int

    @property
    def workers(self) -> set[str]:
        """The instances of groups that run."""
        return {name for name, it in self.instances.items() if it["group"] is not None and it["state"] == "running"}

    @property
    def head(self) -> str | None:
        """The head's instance."""
        heads = (name for name, it in self.instances.items() if it["group"] is None and it["state"] == "running")
        return next(heads, None)

    @property
    def members(self) -> set[str]:
        """The instances that the hosts file of the head names, as the journal says."""
        return set(json.loads(self.values.get("members", "[]")))

    @property
    def step(self) -> int:
        """The highest step of a rank that trains."""
        return max((int(fact["step"]) for fact in self.ranks.values()), default=0)

    def whole(self, size: int) -> bool:
        """Returns whether `size` ranks train together, and no move is under way."""
        worlds = [fact["world_size"] for fact in self.ranks.values()]
        return worlds == [size] * size and not self.is_moving

    @property
    def is_moving(self) -> bool:
        """Whether a move is under way."""
        return any(phase not in ENDED_PHASES for phase in self.phases)

    def disagreements(self) -> list[str]:
        """Returns where journal, hosts file, groups, capacity file and ranks say different things."""
        workers, members = self.workers, self.members
        named = {name for name, it in self.instances.items() if it["ip"] in (self.hosts or ())}
        found = []
        if members != workers:
            found.append(f"the journal names {len(members)} members, {len(workers)} workers run")
        if named != members:
            found.append(f"the hosts file names {len(named)} nodes, the journal {len(members)}")
        if not self.desired == self.capacity == len(workers):
            found.append(f"groups: {self.desired}, capacity file: {self.capacity}, workers: {len(workers)}")
        if set(self.ranks) != workers:
            found.append(f"{len(self.ranks)} ranks train on {len(workers)} workers")
        return found


def look(sandbox: Sandbox) -> View:
    """Looks at a job. No part of it is asked over the network but localcloud itself."""
    status = sandbox.control("status")
    instances = {it["instance_id"]: it for it in status["instances"] if it["state"] in LIVING}
    facts = {name: fact for name in instances if (fact := _fact(sandbox, name)).get("state") == "training"}
    values, phases = _journal(sandbox)
    desired = sum(group["desired"] for group in status["groups"])
    view = View(time.time(), instances, desired, facts, None, values, phases, _capacity(sandbox))
    hosts = None if view.head is None else _hosts(sandbox, view.head)
    return View(view.at, instances, desired, facts, hosts, values, phases, view.capacity)


def _fact(sandbox: Sandbox, instance: str) -> dict[str, Any]:
    """Returns what a rank said just now; nothing where there is no rank, or where it is silent."""
    path = sandbox.root / ".localcloud" / "instances" / instance / "home" / "facts.d" / "iteration.fact"
    try:
        is_fresh = time.time() - path.stat().st_mtime < FRESH_S
        return dict(json.loads(path.read_text())) if is_fresh else {}
    except (OSError, ValueError):
        return {}


def _hosts(sandbox: Sandbox, head: str) -> frozenset[str] | None:
    try:
        text = (sandbox.root / ".localcloud" / "instances" / head / "home" / "centavo" / "hosts").read_text()
    except OSError:
        return None
    return frozenset(line.split(":")[0] for line in text.splitlines() if line and not line.startswith("#"))


def _journal(sandbox: Sandbox) -> tuple[dict[str, str], tuple[str, ...]]:
    journal = sandbox.root / "runs" / "latest" / "journal.sqlite"
    if not journal.is_file():
        return {}, ()
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True, timeout=5)) as connection:
            values = dict(connection.execute("SELECT key, value FROM run"))
            phases = tuple(phase for (phase,) in connection.execute("SELECT phase FROM moves ORDER BY move_id"))
    except sqlite3.OperationalError:
        return {}, ()
    return values, phases


def _capacity(sandbox: Sandbox) -> int:
    try:
        document = json.loads((sandbox.environment / "capacity.auto.tfvars.json").read_text())
    except (OSError, ValueError):
        return -1
    return sum(document["capacity"].values())


@dataclass
class Meter:
    """What localcloud's instances have cost: each one from the look that saw it run to the one that did not."""

    prices: Mapping[str, float]
    usd: float = 0.0
    _last: View | None = field(default=None, repr=False)

    @classmethod
    def of(cls, sandbox: Sandbox) -> Meter:
        """Returns a meter with the prices of the sandbox's environment."""
        return cls(yaml.safe_load((sandbox.environment / "prices.yml").read_text()))

    def take(self, view: View) -> None:
        """Counts what has run since the last look."""
        if self._last is not None:
            running = [it["flavor"] for it in self._last.instances.values() if it["state"] == BILLED]
            self.usd += sum(self.prices[flavor] for flavor in running) * (view.at - self._last.at) / 3600
        self._last = view


def listening(sandbox: Sandbox) -> list[str]:
    """Returns the lines of `ss -ltnp` about the sandbox's processes."""
    marks = {f"pid={pid}," for pid in sandbox.processes()}
    lines = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if any(mark in line for mark in marks)]
