"""Ansible, through ansible-runner: playbooks over an inventory made from what EC2 says, and their outcome per host."""

from __future__ import annotations

import os
import shlex
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner
import pexpect  # type: ignore[import-untyped]

from controller.domain import HeadSeen, Instance, NodeSeen
from controller.domain.errors import AnsibleError, StoppedError
from controller.domain.reasons.moving import PlaybookFailed
from controller.domain.text import lines, one_line
from controller.edges.answer import Interval, head_seen, node_seen, read_answer
from controller.edges.clock import elapsed_s
from controller.edges.connecting.ssh import SshAccess, end_connections
from controller.edges.running import end_marked

FACTS_IDENT = "facts"
FACTS_TASK = "Read the local facts"
"""The task of facts.yml whose output is the facts."""
LOOK_LIMIT_S = 15
"""How long a look waits for one node."""
LOGIN_LIMIT_S = 10
"""How long SSH may take to log in, as in ansible.cfg."""
LOOK_NODE_S = 1.0
"""The time that Ansible may take for each node of a look, beside the waiting."""
LIMITS_S: Mapping[str, float] = {
    "hosts.yml": 90,
    "start.yml": 180,
    "stop.yml": 300,
    "fetch.yml": 1800,
    "wheelhouse.yml": 3600,
    "controller.yml": 1800,
}
"""How long a playbook may take that is given no time limit. Stopping waits for the launcher, for a minute at most."""
OTHER_LIMIT_S = 600.0
POLL_S = 1
MARKER = "CENTAVO_PLAYBOOK"
"""The environment variable by which the processes of one playbook are known."""
MOST_SAID = 600
MOST_TAIL = 2_000


@dataclass
class Outcome:
    """What a playbook did: why hosts failed, how many tasks changed something, and what it brought.

    Attributes:
        failures: By host (instance id) why it failed.
        changed: How many tasks changed something.
        local_facts: By host its local facts, by name: `iteration` of a worker, `training` of the head.
        reports: What the nodes reported to the head's launcher, packed as it lies on the head.
        head_clock: The head's own time, in seconds since the epoch, when it answered; None where it did not tell.
        head: What the head shows; None where it was not asked or did not answer.
        nodes: By host what each worker shows that answered.
        under_way: By host the task that has begun and not ended.
        silent: The hosts that could not be reached, or did not answer in time.
    """

    failures: dict[str, str] = field(default_factory=dict)
    changed: int = 0
    local_facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    reports: bytes = b""
    head_clock: float | None = None
    head: HeadSeen | None = None
    nodes: dict[str, NodeSeen] = field(default_factory=dict)
    under_way: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)

    def take(self, event: Mapping[str, Any]) -> None:
        """Takes up one of ansible-runner's events."""
        data = event.get("event_data") or {}
        host, result = data.get("host"), data.get("res")
        if host and event.get("event") == "runner_on_start":
            self.under_way[host] = str(data.get("task", "a task"))
        if not host or not isinstance(result, Mapping):
            return
        self.under_way.pop(host, None)
        if event.get("event") == "runner_on_unreachable":
            self.silent.add(host)
            self.failures[host] = f"unreachable: {_said(result)}"
        elif event.get("event") == "runner_on_failed" and _is_late(result):
            self.silent.add(host)
            self.failures[host] = f"{data.get('task', 'a task')}: no answer in time"
        elif event.get("event") == "runner_on_failed" and not data.get("ignore_errors"):
            self.failures[host] = f"{data.get('task', 'a task')}: {_said(result)}"
        elif event.get("event") == "runner_on_ok":
            self.changed += bool(result.get("changed"))

    def add(self, other: Outcome) -> None:
        """Takes up what other hosts have answered."""
        self.failures |= other.failures
        self.local_facts |= other.local_facts
        self.nodes |= other.nodes
        self.silent |= other.silent

    def end_late(self, limit_s: float) -> None:
        """Notes that the playbook was ended at its time limit: the hosts that it waited for have failed."""
        for host, task in self.under_way.items():
            self.silent.add(host)
            self.failures[host] = f"{task}: no end within {limit_s:.0f} s"


class Ansible:
    """The playbooks of this checkout. Each run leaves its artifacts in a folder of its own under `artifacts`."""

    def __init__(
        self,
        root: Path,
        artifacts: Path,
        is_stopping: Callable[[], bool],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._directory = root / "ansible"
        self._artifacts = artifacts
        self._is_stopping, self._now = is_stopping, now
        self._runs = len(list(artifacts.glob("artifacts/*"))) if artifacts.exists() else 0

    def read_local_facts(
        self,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
    ) -> Outcome:
        """Runs facts.yml; hosts that don't answer are in the outcome, not raised. Leaves no trace per run."""
        roles = {instance.instance_id: instance.role for instance in instances}
        run = str(variables["centavo"]["run"])

        def take(outcome: Outcome, event: Mapping[str, Any]) -> None:
            data = event.get("event_data") or {}
            if event.get("event") == "runner_on_ok" and data.get("task") == FACTS_TASK:
                host, answer = data["host"], read_answer(str(data["res"].get("stdout", "")))
                asked = self._asked(data)
                outcome.local_facts[host] = answer.facts
                if roles[host] == "head":
                    outcome.head = head_seen(answer, run, asked)
                    outcome.reports, outcome.head_clock = answer.reports, answer.clock
                else:
                    outcome.nodes[host] = node_seen(host, answer, asked)

        outcome, _ = self._run(
            "facts.yml",
            access,
            instances,
            {**variables, "look_limit_s": LOOK_LIMIT_S},
            ident=FACTS_IDENT,
            timeout_s=2 * LOOK_LIMIT_S + LOOK_NODE_S * len(instances),
            also=take,
        )
        for instance in instances:
            if instance.instance_id not in outcome.local_facts:
                outcome.failures.setdefault(instance.instance_id, "it was not asked in time")
        return outcome

    def _asked(self, data: Mapping[str, Any]) -> Interval:
        """Returns the time from the start of a host's task until its result is here."""
        end = self._now()
        return Interval(end - max(0.0, float(data.get("duration") or 0.0)), end)

    def play(
        self,
        playbook: str,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
    ) -> Outcome:
        """Runs a playbook over the inventory, or over `limit` (instance ids) of it, for at most `timeout_s`. Raises
        AnsibleError when any host failed, with the reason per host, and StoppedError when a person stopped it."""
        self._runs += 1
        ident = f"{self._runs:04}-{playbook.removesuffix('.yml')}"
        outcome, status = self._run(
            playbook,
            access,
            instances,
            variables,
            ident=ident,
            limit=limit,
            timeout_s=timeout_s or LIMITS_S.get(playbook, OTHER_LIMIT_S),
        )
        if outcome.failures or status != "successful":
            raise _failed(playbook, status, outcome, self._artifacts / "artifacts" / ident / "stdout")
        return outcome

    def _run(
        self,
        playbook: str,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
        *,
        ident: str,
        timeout_s: float,
        limit: Sequence[str] | None = None,
        also: Callable[[Outcome, Mapping[str, Any]], None] = lambda outcome, event: None,
    ) -> tuple[Outcome, str]:
        outcome, mark, status = Outcome(), f"{os.getpid()}-{uuid.uuid4().hex}", "failed"
        # ansible-runner has a time limit of its own, which goes by the machine's clock, and that clock may be set.
        deadline = elapsed_s() + timeout_s

        def handle(event: Mapping[str, Any]) -> bool:
            outcome.take(event)
            also(outcome, event)
            return ident != FACTS_IDENT

        try:
            status = self._status_of(
                playbook,
                inventory=inventory(access, instances),
                extravars=dict(variables),
                limit=":".join(limit) if limit else None,
                ident=ident,
                event_handler=handle,
                cancel_callback=lambda: self._is_stopping() or elapsed_s() > deadline,
                envvars={**self._environment(), MARKER: mark},
            )
        finally:
            if outcome.under_way or status == "canceled":
                end_marked(MARKER, mark)
        if status != "successful" and self._is_stopping():
            raise StoppedError(f"Stopped during the playbook {playbook}.")
        if status == "canceled":
            status = "timeout"
            outcome.end_late(timeout_s)
        end_connections(access, outcome.silent)
        return outcome, status

    def _status_of(self, playbook: str, **options: Any) -> str:
        """Runs ansible-runner. Returns its status. Raises AnsibleError where Ansible can't be run."""
        try:
            self._artifacts.mkdir(parents=True, exist_ok=True)
            runner = ansible_runner.run(
                private_data_dir=str(self._artifacts),
                project_dir=str(self._directory),
                playbook=str(Path("playbooks") / playbook),
                quiet=True,
                settings={"pexpect_timeout": POLL_S},
                **options,
            )
        except (OSError, pexpect.ExceptionPexpect, ansible_runner.exceptions.AnsibleRunnerException) as error:
            raise _unusable(playbook, error) from error
        return str(runner.status)

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        return {
            "ANSIBLE_CONFIG": str(self._directory / "ansible.cfg"),
            # ansible-runner turns the check off, whatever ansible.cfg says.
            "ANSIBLE_HOST_KEY_CHECKING": "True",
            "ANSIBLE_NOCOLOR": "1",
            "PATH": path,
        }


def _unusable(playbook: str, error: Exception) -> AnsibleError:
    said = one_line(f"{type(error).__name__}: {error}", MOST_SAID)
    return AnsibleError(
        f"Ansible could not run the playbook {playbook}: {said}",
        "Check that the disk has room, and that .venv is whole: `make setup`.",
    )


def _failed(playbook: str, status: str, outcome: Outcome, log: Path) -> AnsibleError:
    """Returns the error of a playbook that failed; `log` holds its output."""
    tail = _tail(log)
    said = "\n".join(f"  {host}: {words}" for host, words in sorted(outcome.failures.items())) or f"  {tail}"
    return AnsibleError(
        f"The playbook {playbook} ended as {status!r}:\n{said}",
        f"Its whole output is in {log}.",
        outcome.failures,
        reason=PlaybookFailed(playbook, status, outcome.failures, tail),
    )


def inventory(access: SshAccess, instances: Sequence[Instance]) -> dict[str, Any]:
    """Returns an inventory in Ansible's own form: groups head and workers, with instance ids as the hosts' names."""

    def group(role: str) -> dict[str, Any]:
        return {"hosts": {i.instance_id: _host(access, i) for i in instances if i.role == role}}

    return {"all": {"children": {"head": group("head"), "workers": group("worker")}}}


def _host(access: SshAccess, instance: Instance) -> dict[str, Any]:
    return {
        "ansible_host": access.address(instance),
        "ansible_port": access.port,
        "ansible_user": access.user,
        "ansible_ssh_private_key_file": str(access.identity_file),
        # Ansible gives ssh this time limit before the options below, and ssh takes the first one.
        "ansible_ssh_timeout": max(access.connect_timeout_s, LOGIN_LIMIT_S),
        "ansible_ssh_common_args": shlex.join(access.options(instance)),
        "instance_id": instance.instance_id,
        "private_ip": instance.private_ip,
        "flavor": instance.flavor,
    }


def _is_late(result: Mapping[str, Any]) -> bool:
    """Returns whether a task's `timeout` ended it (`TaskExecutor` in ansible-core)."""
    return "in the expected time frame" in str(result.get("msg"))


def _said(result: Mapping[str, Any]) -> str:
    """Returns the most telling part of a failed task's result, shortened."""
    for key in ("msg", "stderr", "module_stderr", "stdout", "module_stdout"):
        text = str(result.get(key) or "").strip()
        if text and not text.startswith(("MODULE FAILURE", "non-zero return code")):
            return lines(text, MOST_SAID)
    return "no reason given"


def _tail(log: Path, last: int = 6) -> str:
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return "\n  ".join(lines(text, MOST_TAIL).splitlines()[-last:]) or "no output"
