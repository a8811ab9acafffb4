"""What one node answers to the playbook facts.yml: its local facts, its time, and the state of its service."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain import HeadSeen, LauncherState, NodeSeen, WorkerState
from controller.domain.times import parse_time

MOST_FACT_BYTES = 65_536
MOST_HOSTS_BYTES = 262_144
MOST_REPORTS_BYTES = 524_288
DEEPEST_JSON = 16
"""How deeply a fact may be nested. Its schema needs 2 levels."""
END_FACT = "training"
"""The head's local fact that says how the training ended."""
WARM = "warm: ready to join"
"""The reason in the fact of a worker that waits, and of one that was just made a rank."""
LATEST = 4e9
"""Times from the year 2096 on are taken for none."""
NOTICED_S = 15.0
"""Within this time supervisor notices that a process has ended, and writes it into its log, unless the disk is full."""
TICKS_PER_S = 100
"""The unit of the times in /proc/PID/stat that Linux shows to programs (USER_HZ)."""


@dataclass(frozen=True)
class Interval:
    """The time, on the controller's clock, in which a node answered (seconds since the epoch)."""

    begin: float
    end: float

    def ahead_s(self, clock: float | None) -> float:
        """Returns how far a clock is ahead that a node read in this time; 0 where it may be right."""
        if clock is None or self.begin <= clock <= self.end:
            return 0.0
        return clock - (self.begin + self.end) / 2


@dataclass(frozen=True)
class Service:
    """A supervised service of a node, as its files and processes show it.

    Attributes:
        name: `launcher` or `worker`.
        is_configured: Whether its configuration is of this run.
        is_alive: Whether its process runs.
        is_ours: Whether its process runs this run's program.
        started_at: When its process started, on the node's clock; None where it does not run.
        socket_at: When its socket was made, on the node's clock; None where there is none.
        said: Supervisor's last log line about it; `started` where supervisor has started since.
    """

    name: str
    is_configured: bool = False
    is_alive: bool = False
    is_ours: bool = False
    started_at: float | None = None
    socket_at: float | None = None
    said: str = ""

    @property
    def was_spawned(self) -> bool:
        """Whether supervisor's last line says that it has started it."""
        return "spawned: " in self.said

    @property
    def has_ended_well(self) -> bool:
        """Whether supervisor takes its end for a good one, and so does not start it again."""
        return "exited: " in self.said and "; expected)" in self.said

    @property
    def is_started_again(self) -> bool:
        """Whether supervisor is about to start it again."""
        return self.was_spawned or ("exited: " in self.said and not self.has_ended_well)


@dataclass
class Answer:
    """One node's answer."""

    clock: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    hosts: str | None = None
    hosts_at: float | None = None
    reports: bytes = b""
    """On the head, what the nodes reported to its launcher, packed."""
    is_of_this_run: bool = False
    """Whether the head's launcher was last started for this run."""
    is_supervised: bool = False
    logged_at: float | None = None
    """When supervisor last wrote into its log, on the node's clock."""
    services: dict[str, Service] = field(default_factory=dict)

    def is_about_to_start(self, service: Service) -> bool:
        """Returns whether supervisor is about to start a service that does not run.

        A line that says "spawned" is not trusted for long: on a full disk, no later line follows it.
        """
        is_silent = self.clock is not None and self.logged_at is not None and self.clock > self.logged_at + NOTICED_S
        return self.is_supervised and service.is_started_again and not (service.was_spawned and is_silent)


def _read_clock(answer: Answer, rest: str) -> None:
    answer.clock = _time(rest)


def _read_fact(answer: Answer, rest: str) -> None:
    name, _, content = rest.partition(" ")
    answer.facts[name] = parse_fact_file(_unpacked(content))


def _read_hosts(answer: Answer, rest: str) -> None:
    at, _, content = rest.partition(" ")
    hosts = _unpacked(content)
    if len(hosts) < MOST_HOSTS_BYTES:
        answer.hosts, answer.hosts_at = hosts.decode(errors="replace"), _time(at)


def _read_reports(answer: Answer, rest: str) -> None:
    reports = _unpacked(rest)
    answer.reports = reports if len(reports) < MOST_REPORTS_BYTES else b""


def _read_run(answer: Answer, rest: str) -> None:
    answer.is_of_this_run = rest == "ours"


def _read_logged(answer: Answer, rest: str) -> None:
    answer.logged_at = _time(rest)


def _read_supervisor(answer: Answer, rest: str) -> None:
    answer.is_supervised = rest == "alive"


_NODE_LINES: dict[str, Callable[[Answer, str], None]] = {
    "clock": _read_clock,
    "fact": _read_fact,
    "hosts": _read_hosts,
    "logged": _read_logged,
    "nodes": _read_reports,
    "run": _read_run,
    "supervisor": _read_supervisor,
}


def _alive(clock: float | None, rest: str) -> dict[str, Any]:
    """Returns when a process started, by the node's uptime and the process's line of /proc/PID/stat (proc(5))."""
    uptime, _, stat = rest.partition(" ")
    fields = stat.rpartition(")")[2].split()
    if clock is None or len(fields) <= _START_FIELD or fields[0] in ("Z", "X"):
        return {}
    age_s = _time(uptime) - _time(fields[_START_FIELD]) / TICKS_PER_S
    return {"is_alive": True, "started_at": clock - age_s}


_START_FIELD = 19
"""The place of `starttime` behind the command's name, which ends with the last bracket."""
_SERVICE_LINES: dict[str, Callable[[Answer, str], dict[str, Any]]] = {
    "program": lambda answer, rest: {"is_configured": rest == "ours"},
    "process": lambda answer, rest: {"is_ours": rest == "ours"},
    "socket": lambda answer, rest: {"socket_at": _time(rest)},
    "last": lambda answer, rest: {"said": _unpacked(rest).decode(errors="replace").strip()},
    "alive": lambda answer, rest: _alive(answer.clock, rest),
}


def _unpacked(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error as error:
        raise ValueError(f"no base64: {error}") from error


def _time(text: str) -> float:
    value = float(text)
    if not 0 <= value < LATEST:
        raise ValueError(f"{value} is no time")
    return value


def read_answer(output: str) -> Answer:
    """Returns the answer in a node's output. A line that is not understood is passed over: it says nothing.

    The end of an earlier run lies on the head until this run's launcher is started. It is left out.
    """
    answer, service = Answer(), dict[str, Any]()
    for line in output.splitlines():
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "service":
                service = {"name": rest}
            elif word in _NODE_LINES:
                _NODE_LINES[word](answer, rest)
            elif word in _SERVICE_LINES and service:
                service.update(_SERVICE_LINES[word](answer, rest))
        except ValueError:
            continue
        if service:
            answer.services[service["name"]] = Service(**service)
    if not answer.is_of_this_run:
        answer.facts.pop(END_FACT, None)
    return answer


def head_seen(answer: Answer, run: str, asked: Interval) -> HeadSeen:
    """Returns what the head's answer shows, its times on the controller's clock."""
    ahead_s = asked.ahead_s(answer.clock)
    hosts = None if answer.hosts is None else addresses_of(answer.hosts, run)
    written_at = None if hosts is None or answer.hosts_at is None else answer.hosts_at - ahead_s
    return HeadSeen(_launcher_state(answer), hosts, written_at, ahead_s)


def node_seen(instance_id: str, answer: Answer, asked: Interval) -> NodeSeen:
    """Returns what a worker's answer shows."""
    return NodeSeen(instance_id, _worker_state(answer), asked.ahead_s(answer.clock))


def addresses_of(hosts: str, run: str) -> frozenset[str] | None:
    """Returns the addresses in a hosts file; None where the file is of another run."""
    first, *lines = hosts.splitlines() or [""]
    if first.strip() != f"# {run}":
        return None
    return frozenset(address for line in lines if (address := line.partition(":")[0].strip()))


def parse_fact_file(content: bytes) -> Any:
    """Returns the content of a local fact, as in Ansible's own `ansible_local`: JSON, or a text that says why not."""
    if len(content) >= MOST_FACT_BYTES:
        return f"it has {MOST_FACT_BYTES} bytes or more"
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"it is no JSON: {error}"
    return value if _is_shallow(value) else f"it is nested more than {DEEPEST_JSON} levels deep"


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST_JSON):
        level = [inner for outer in level for inner in _inside(outer)]
    return not level


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _launcher_state(answer: Answer) -> LauncherState:
    service, done = answer.services.get("launcher"), answer.facts.get(END_FACT)
    if service is None or not answer.is_of_this_run:
        return LauncherState.ABSENT
    if isinstance(done, Mapping) and "status" in done:
        return LauncherState.ENDED
    is_running = service.is_alive or answer.is_about_to_start(service)
    return LauncherState.RUNNING if is_running else LauncherState.DEAD


def _worker_state(answer: Answer) -> WorkerState:
    service = answer.services.get("worker")
    if service is None or not service.is_configured or not (service.is_alive or service.said):
        return WorkerState.ABSENT
    if service.is_alive:
        if not service.is_ours:
            return WorkerState.ABSENT
        return WorkerState.WARM if _is_warm(service, answer.facts.get("iteration")) else WorkerState.STARTING
    if service.has_ended_well:
        return WorkerState.LEFT
    return WorkerState.STARTING if answer.is_about_to_start(service) else WorkerState.DEAD


def _is_warm(service: Service, fact: Any) -> bool:
    """Returns whether a worker waits at its socket, or has a rank. It removes the socket when it gets one."""
    if service.started_at is None:
        return False
    if service.socket_at is not None and service.socket_at >= service.started_at:
        return True
    if not isinstance(fact, Mapping):
        return False
    try:
        is_its_own = parse_time(fact.get("updated_at")) >= service.started_at
    except ValueError:
        return False
    return is_its_own and (fact.get("state") != "starting" or fact.get("reason") == WARM)
