"""What a warden knows of its node and does there: its settings, its services, and what the launcher tells."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONNECT_S = 5.0
STOP_S = 150.0
"""How long a service may take to end. Ranks write a checkpoint meanwhile. Supervisor kills after a minute."""
MOST_FACT_BYTES = 65536


class SettingsError(Exception):
    """The file of settings is missing or wrong. The message says what to do."""


@dataclass(frozen=True)
class NodeSettings:
    """What a node's warden is told by Ansible.

    Attributes:
        cluster: The cluster's name.
        bucket: The cluster's bucket.
        region: The region of both.
        instance_id: This node's instance.
        root: The folder of all that Centavo has on the node.
        fact_path: The folder of the facts.
        supervisor: The command of supervisor's client.
        head_address: The head's private address.
        head_port: The port of the head's SSH server.
    """

    cluster: str
    bucket: str
    region: str
    instance_id: str
    root: Path
    fact_path: Path
    supervisor: tuple[str, ...]
    head_address: str
    head_port: int


def read_settings(file: Path) -> NodeSettings:
    """Returns the settings in a file. Raises SettingsError."""
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        texts = {name: document[name] for name in ("cluster", "bucket", "region", "instance_id", "head_address")}
        if not all(isinstance(text, str) and text for text in texts.values()):
            raise ValueError("a name is empty")
        return NodeSettings(
            **texts,
            root=Path(document["root"]),
            fact_path=Path(document["fact_path"]),
            supervisor=tuple(str(part) for part in document["supervisor"]),
            head_port=int(document["head_port"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(
            f"{file} cannot be used: {type(error).__name__}: {error}. "
            "Ansible's role node writes this file: prepare the node again (`centavo train`)."
        ) from error


class Node:
    """This node: its services under supervisor, and the facts on it."""

    def __init__(self, settings: NodeSettings, tell: Callable[[str], None]) -> None:
        self.settings, self._tell = settings, tell

    def launcher(self) -> tuple[int | None, str | None]:
        """Returns the step that the launcher tells, and what it tells while it works. Raises nothing.

        Returns:
            The step; None where it tells none. And its state with the time of its telling, which changes every few
            seconds; None where it tells none, or that it has ended.
        """
        try:
            with (self.settings.fact_path / "launcher.fact").open("rb") as file:
                fact = json.loads(file.read(MOST_FACT_BYTES))
            step, state, told_at = fact.get("step"), fact.get("state"), fact.get("updated_at")
        except (OSError, ValueError, AttributeError, RecursionError):
            return None, None
        works = isinstance(state, str) and state != "ended" and isinstance(told_at, str)
        is_step = isinstance(step, int) and not isinstance(step, bool)
        return step if is_step else None, f"{state} at {told_at}" if works else None

    def head_answers(self) -> bool:
        """Returns whether the head's SSH server takes a connection."""
        try:
            with socket.create_connection((self.settings.head_address, self.settings.head_port), CONNECT_S):
                return True
        except OSError:
            return False

    def run(self) -> str | None:
        """Returns the run whose launcher was started last on this node."""
        try:
            name = (self.settings.root / "run").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return None
        return name if name and "/" not in name and not name.startswith(".") else None

    def wants(self, service: str) -> bool:
        """Returns whether a service is to run."""
        return (self.settings.root / "wanted" / service).exists()

    def hosts(self) -> str | None:
        """Returns the hosts file, which says which nodes take part; None where there is none."""
        try:
            return (self.settings.root / "hosts").read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def write_hosts(self, text: str) -> None:
        """Replaces the hosts file at once. Raises OSError."""
        new = self.settings.root / "hosts.warden"
        new.write_text(text, encoding="utf-8")
        new.replace(self.settings.root / "hosts")

    def stop(self, service: str) -> None:
        """Stops a service in order: ranks commit and write a checkpoint. It does not come back at the next boot."""
        (self.settings.root / "wanted" / service).unlink(missing_ok=True)
        try:
            done = subprocess.run(
                [*self.settings.supervisor, "stop", service],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=STOP_S,
                check=False,
            )
            self._tell(f"asked the {service} to stop: {(done.stdout or done.stderr).strip()[:300]}")
        except subprocess.TimeoutExpired:
            self._tell(f"the {service} has not stopped within {STOP_S:.0f} s")
        except OSError as error:
            self._tell(f"the {service} could not be asked to stop: {error}")

    def shut_down(self) -> None:
        """Shuts the operating system down, which stops the instance. It needs sudo without a password."""
        try:
            subprocess.run(
                ["sudo", "-n", "shutdown", "-h", "now"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CONNECT_S,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._tell(f"the node could not be shut down: {error}")
