"""Ansible, through ansible-runner: playbooks over an inventory made from what EC2 says, and their outcome per host."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner

from controller.domain import HeadSeen, Instance, NodeSeen
from controller.domain.errors import AnsibleError, StoppedError
from controller.domain.reasons.moving import PlaybookFailed
from controller.edges.answer import Interval, head_seen, node_seen, read_answer
from controller.edges.ssh import SshAccess

FACTS_IDENT = "facts"
FACTS_TASK = "Read the local facts"
"""The task of facts.yml whose output is the facts."""


@dataclass
class Outcome:
    """What a playbook did: why hosts failed, how many tasks changed something, and what it brought.

    Attributes:
        failures: By host (instance id) why it failed.
        changed: How many tasks changed something.
        local_facts: By host its local facts, by name: `iteration` of a worker, `training` of the head.
        head: What the head shows; None where it was not asked or did not answer.
        nodes: By host what each worker shows that answered.
    """

    failures: dict[str, str] = field(default_factory=dict)
    changed: int = 0
    local_facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    head: HeadSeen | None = None
    nodes: dict[str, NodeSeen] = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> None:
        """Takes up one of ansible-runner's events."""
        data = event.get("event_data") or {}
        host, result = data.get("host"), data.get("res")
        if not host or not isinstance(result, Mapping):
            return
        if event.get("event") == "runner_on_unreachable":
            self.failures[host] = f"unreachable: {_said(result)}"
        elif event.get("event") == "runner_on_failed" and not data.get("ignore_errors"):
            self.failures[host] = f"{data.get('task', 'a task')}: {_said(result)}"
        elif event.get("event") == "runner_on_ok":
            self.changed += bool(result.get("changed"))


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
                else:
                    outcome.nodes[host] = node_seen(host, answer, asked)

        outcome, _ = self._run("facts.yml", access, instances, variables, ident=FACTS_IDENT, also=take)
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
            playbook, access, instances, variables, ident=ident, limit=limit, timeout_s=timeout_s
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
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
        also: Callable[[Outcome, Mapping[str, Any]], None] = lambda outcome, event: None,
    ) -> tuple[Outcome, str]:
        outcome = Outcome()
        keep_events = ident != FACTS_IDENT

        def handle(event: Mapping[str, Any]) -> bool:
            outcome.take(event)
            also(outcome, event)
            return keep_events

        self._artifacts.mkdir(parents=True, exist_ok=True)
        runner = ansible_runner.run(
            private_data_dir=str(self._artifacts),
            project_dir=str(self._directory),
            playbook=str(Path("playbooks") / playbook),
            inventory=inventory(access, instances),
            extravars=dict(variables),
            limit=":".join(limit) if limit else None,
            ident=ident,
            quiet=True,
            settings={"job_timeout": int(timeout_s)} if timeout_s else {},
            event_handler=handle,
            cancel_callback=self._is_stopping,
            envvars=self._environment(),
        )
        if runner.status == "canceled" or (runner.status != "successful" and self._is_stopping()):
            raise StoppedError(f"Stopped during the playbook {playbook}.")
        return outcome, str(runner.status)

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        return {"ANSIBLE_CONFIG": str(self._directory / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", "PATH": path}


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
        "ansible_ssh_common_args": shlex.join(access.options(instance)),
        "instance_id": instance.instance_id,
        "flavor": instance.flavor,
    }


def _said(result: Mapping[str, Any]) -> str:
    """Returns the most telling part of a failed task's result, shortened."""
    for key in ("msg", "stderr", "module_stderr", "stdout", "module_stdout"):
        text = str(result.get(key) or "").strip()
        if text and not text.startswith(("MODULE FAILURE", "non-zero return code")):
            return text[-600:]
    return "no reason given"


def _tail(log: Path, lines: int = 6) -> str:
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return "\n  ".join(text.strip().splitlines()[-lines:]) or "no output"
