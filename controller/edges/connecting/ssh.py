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
from controller.edges.connecting.safe_dialling import check_may_be_dialled
from controller.edges.connecting.session_manager import session_command
from controller.edges.limited import run_within
from controller.edges.running import end, found

CONNECT_TIMEOUT_S = 5
SESSION_TIMEOUT_S = 30
"""A session of Systems Manager takes some seconds to open: the AWS CLI starts, and asks AWS for it."""
ALIVE_INTERVAL_S, ALIVE_COUNT = 5, 3
"""A connection is given up where the other side has not answered this many questions, one each interval."""
PERSIST_S = 600
"""How long a shared connection stays open unused, in seconds: longer than the time between two looks."""
KEYGEN_LIMIT_S = 60.0


@dataclass(frozen=True)
class SshAccess:
    """User, port and key for every node, and the head as a way in where workers have private addresses only.

    Attributes:
        jump_through_head: Whether workers are reached through the head. The head is then reached at its public address;
            without one, through Systems Manager.
        region: The AWS region of the nodes.
    """

    user: str
    port: int
    identity_file: Path
    known_hosts_file: Path
    head: Instance
    jump_through_head: bool
    region: str = ""

    @property
    def has_sessions(self) -> bool:
        """Whether the head is reached through Systems Manager."""
        return self.jump_through_head and self.head.public_ip is None

    @property
    def connect_timeout_s(self) -> int:
        """How long a connection may take to open, in seconds."""
        return SESSION_TIMEOUT_S if self.has_sessions else CONNECT_TIMEOUT_S

    def address(self, instance: Instance) -> str:
        """Returns what ssh dials: a node's address, or the instance id of a head behind Systems Manager.

        Raises:
            CentavoError: The node has no address, or none that may be dialled.
        """
        is_way_in = instance.role == "head" and self.jump_through_head
        if is_way_in and instance.public_ip is None:
            return instance.instance_id
        address = instance.public_ip if is_way_in else instance.private_ip
        if address is None:
            raise CentavoError(f"{instance.instance_id} has no address.", "Wait until it runs: `centavo status`.")
        check_may_be_dialled(address)
        return address

    def options(self, instance: Instance) -> list[str]:
        """Options of ssh(1) for one node. Host keys are kept under instance ids, for addresses come again."""
        options = self._own_options(instance)
        if self.jump_through_head and instance.role != "head":
            options += ["-o", f"ProxyCommand={shlex.join(self.jump())}"]
        return options

    def jump(self) -> list[str]:
        """Returns the command that connects to a worker through the head; ssh fills in the worker's `%h` and `%p`."""
        identity, port, head = str(self.identity_file), str(self.port), f"{self.user}@{self.address(self.head)}"
        return ["ssh", *self._own_options(self.head), "-i", identity, "-p", port, "-W", "%h:%p", head]

    def _own_options(self, instance: Instance) -> list[str]:
        session = []
        if instance.role == "head" and self.has_sessions:
            command = shlex.join(session_command(instance.instance_id, self.port, self.region))
            session = ["-o", f"ProxyCommand={command}"]
        return [
            *session,
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
            f"ConnectTimeout={self.connect_timeout_s}",
            "-o",
            f"ServerAliveInterval={ALIVE_INTERVAL_S}",
            "-o",
            f"ServerAliveCountMax={ALIVE_COUNT}",
            "-o",
            "LogLevel=ERROR",
            "-o",
            "ControlMaster=auto",
            "-o",
            f"ControlPersist={PERSIST_S}s",
            "-o",
            f"ControlPath={self.control_path(instance.instance_id)}",
        ]

    def control_path(self, instance_id: str) -> Path:
        """Returns the socket of the connection that all commands to a node share."""
        return control_directory(self.known_hosts_file) / instance_id


def config_for_people(access: SshAccess) -> str:
    """Returns an ssh_config(5) with which a person reaches the head as `head`, and a worker by its private address.

    The way is the controller's own. Workers' host keys are kept by their addresses here, in a file beside the other.
    """
    everybody = {
        "User": access.user,
        "Port": str(access.port),
        "IdentityFile": f'"{access.identity_file}"',
        "IdentitiesOnly": "yes",
        "StrictHostKeyChecking": "accept-new",
        "UserKnownHostsFile": f'"{access.known_hosts_file}_by_address"',
        "ServerAliveInterval": str(ALIVE_INTERVAL_S),
    }
    head = {"HostName": access.address(access.head), "HostKeyAlias": access.head.instance_id}
    if access.has_sessions:
        head["ProxyCommand"] = shlex.join(session_command(access.head.instance_id, access.port, access.region))
    workers = {"ProxyCommand": shlex.join(access.jump())} if access.jump_through_head else {}
    blocks = {"head": head, "* !head": workers, "*": everybody}
    return "".join(
        f"Host {pattern}\n" + "".join(f"  {key} {value}\n" for key, value in entries.items())
        for pattern, entries in blocks.items()
        if entries
    )


def control_directory(belonging_to: Path) -> Path:
    """Returns a private folder with a short path, since a Unix socket's path has at most 108 bytes (`sun_path`)."""
    digest = hashlib.sha256(str(belonging_to).encode()).hexdigest()[:8]
    directory = Path(tempfile.gettempdir()) / f"centavo-{os.getuid()}-{digest}"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def end_connections(access: SshAccess, instance_ids: Iterable[str]) -> None:
    """Ends the SSH processes of this user to these nodes, and the connections that later commands would share.

    A connection to a node that has gone silent would let the next command wait too.
    """
    paths = {str(access.control_path(instance_id)) for instance_id in instance_ids}
    options = {f"ControlPath={path}".encode() for path in paths}
    masters = {f"ssh: {path} [mux]".encode() for path in paths}
    if paths:
        end(found("cmdline", lambda words: words[0] in masters or (_is_ssh(words) and not options.isdisjoint(words))))
    for path in paths:
        Path(path).unlink(missing_ok=True)


def _is_ssh(words: list[bytes]) -> bool:
    return words[0].rpartition(b"/")[2] == b"ssh"


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
    step = "Correct or remove the file that ssh.identity_file names."
    try:
        done = run_within(KEYGEN_LIMIT_S, ["ssh-keygen", "-q", *arguments])
    except FileNotFoundError as error:
        raise CentavoError("The command ssh-keygen was not found.", "Install OpenSSH's client.") from error
    except subprocess.TimeoutExpired as error:
        raise CentavoError(f"ssh-keygen did not end within {KEYGEN_LIMIT_S:.0f} s.", step) from error
    if done.returncode:
        raise CentavoError(f"ssh-keygen failed: {done.stderr.decode(errors='replace').strip()}", step)
    return done.stdout.decode()
