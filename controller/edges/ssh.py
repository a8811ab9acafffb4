"""How nodes are reached over SSH: the options that Ansible and the reachability check share, and the key pair."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from controller.domain import Instance
from controller.domain.errors import CentavoError

CONNECT_TIMEOUT_S = 5
CHECK_LIMIT_S = 20


@dataclass(frozen=True)
class SshAccess:
    """User, port and key for every node, and the head as a way in where workers have private addresses only."""

    user: str
    port: int
    identity_file: Path
    known_hosts_file: Path
    head: Instance
    jump_through_head: bool

    def address(self, instance: Instance) -> str:
        """Returns the address at which a node is reached from here. Raises CentavoError where it has none."""
        if instance.role == "head" and self.jump_through_head and instance.public_ip:
            return instance.public_ip
        if instance.private_ip is None:
            raise CentavoError(f"{instance.instance_id} has no address.", "Wait until it runs: `centavo status`.")
        return instance.private_ip

    def options(self, instance: Instance) -> list[str]:
        """Options of ssh(1) for one node. Host keys are kept under instance ids, for addresses come again."""
        options = self._own_options(instance)
        if self.jump_through_head and instance.role != "head":
            jump = [
                "ssh",
                *self._own_options(self.head),
                "-i",
                str(self.identity_file),
                "-p",
                str(self.port),
                "-W",
                "%h:%p",
                f"{self.user}@{self.address(self.head)}",
            ]
            options += ["-o", f"ProxyCommand={shlex.join(jump)}"]
        return options

    def _own_options(self, instance: Instance) -> list[str]:
        return [
            "-o",
            f"HostKeyAlias={instance.instance_id}",
            "-o",
            f"UserKnownHostsFile={self.known_hosts_file}",
            "-o",
            "StrictHostKeyChecking=accept-new",
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "BatchMode=yes",
            "-o",
            f"ConnectTimeout={CONNECT_TIMEOUT_S}",
            "-o",
            "LogLevel=ERROR",
            "-o",
            "ControlMaster=auto",
            "-o",
            "ControlPersist=60s",
            "-o",
            f"ControlPath={control_directory(self.known_hosts_file)}/{instance.instance_id}",
        ]


def control_directory(belonging_to: Path) -> Path:
    """Returns a private folder with a short path, since a Unix socket's path has at most 108 bytes (`sun_path`)."""
    digest = hashlib.sha256(str(belonging_to).encode()).hexdigest()[:8]
    directory = Path(tempfile.gettempdir()) / f"centavo-{os.getuid()}-{digest}"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def answering(access: SshAccess, instances: Iterable[Instance]) -> dict[str, str | None]:
    """Tries all nodes at once. By instance id: None where it answered, else what SSH said."""
    tries = {instance.instance_id: _try(access, instance) for instance in instances}
    return {instance_id: _outcome(process) for instance_id, process in tries.items()}


def _try(access: SshAccess, instance: Instance) -> subprocess.Popen[str]:
    command = [
        "ssh",
        *access.options(instance),
        "-o",
        "ControlMaster=no",
        "-o",
        "ControlPath=none",
        "-i",
        str(access.identity_file),
        "-p",
        str(access.port),
        f"{access.user}@{access.address(instance)}",
        "true",
    ]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def _outcome(process: subprocess.Popen[str]) -> str | None:
    try:
        _, said = process.communicate(timeout=CHECK_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"no answer within {CHECK_LIMIT_S} s"
    return None if process.returncode == 0 else said.strip() or f"ssh ended with {process.returncode}"


def ensure_key_pair(identity_file: Path) -> str:
    """Returns the public key of the identity, which ssh-keygen makes when there is none. Raises CentavoError."""
    public = identity_file.with_name(identity_file.name + ".pub")
    if not identity_file.exists():
        identity_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        public.unlink(missing_ok=True)
        _keygen(["-t", "ed25519", "-N", "", "-C", "centavo", "-f", str(identity_file)])
    if not public.exists():
        public.write_text(_keygen(["-y", "-f", str(identity_file)]), encoding="utf-8")
    return public.read_text(encoding="utf-8").strip()


def _keygen(arguments: list[str]) -> str:
    try:
        return subprocess.run(
            ["ssh-keygen", "-q", *arguments], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
        ).stdout
    except FileNotFoundError as error:
        raise CentavoError("The command ssh-keygen was not found.", "Install OpenSSH's client.") from error
    except subprocess.CalledProcessError as error:
        raise CentavoError(
            f"ssh-keygen failed: {error.stderr.strip()}", "Correct or remove the file that ssh.identity_file names."
        ) from error
