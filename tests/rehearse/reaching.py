"""Dialling a worker: from outside, which its security group refuses, and through the head, which it accepts."""

from __future__ import annotations

import socket
import subprocess
from dataclasses import dataclass
from typing import Any

from tests.rehearse.place import Place
from tests.rehearse.running import RehearsalError
from tests.support.sandbox import running_instances

SSH = (
    "ssh",
    "-F",
    "none",
    "-o",
    "BatchMode=yes",
    "-o",
    "StrictHostKeyChecking=no",
    "-o",
    "UserKnownHostsFile=/dev/null",
)
LIMIT_S = 5


@dataclass(frozen=True)
class Reaching:
    """Who reaches a worker of a place."""

    place: Place

    def show(self, worker: dict[str, Any]) -> str:
        """Returns what was refused and what was accepted. Raises RehearsalError where it is not as it should be."""
        address = worker["PrivateIpAddress"]
        self._is_refused(address)
        return f"SSH to {address} from outside: no answer; through the head: {self._through_the_head(address)}"

    def _is_refused(self, address: str) -> None:
        try:
            socket.create_connection((address, 22), LIMIT_S).close()
        except OSError:
            return
        raise RehearsalError(f"{address} answers SSH from outside of its security group.")

    def _through_the_head(self, address: str) -> str:
        head = self._head()
        key = self.place.root / ".centavo" / "aws" / "id_ed25519"
        proxy = " ".join([*SSH, "-i", str(key), "-W", f"{address}:22", f"admin@{head}"])
        command = [*SSH, "-i", str(key), "-o", f"ProxyCommand={proxy}", f"admin@{address}", "hostname; id -un"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise RehearsalError(f"{address} can't be reached through the head {head}: {done.stderr.strip()}")
        return " ".join(done.stdout.split())

    def _head(self) -> str:
        """Returns the head's public address."""
        (head,) = running_instances(self.place.client("ec2"), "head")
        return str(head["PublicIpAddress"])
