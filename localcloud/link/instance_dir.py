"""The files of an instance: a host writes them, and the API shows some of them as the instance's console."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


def instances_in(state_dir: Path) -> Path:
    """Returns the folder with one folder for each instance."""
    return state_dir / "instances"


@dataclass(frozen=True)
class InstanceDir:
    """The folder of one instance."""

    path: Path

    @classmethod
    def of(cls, state_dir: Path, instance_id: str) -> InstanceDir:
        """Returns the folder of an instance in a state directory."""
        return cls(instances_in(state_dir) / instance_id)

    @property
    def home(self) -> Path:
        """The home directory, where sessions start."""
        return self.path / "home"

    @property
    def authorized_keys(self) -> Path:
        """The public keys that may log in."""
        return self.home / ".ssh" / "authorized_keys"

    @property
    def console(self) -> Path:
        """What the user data printed."""
        return self.path / "console.log"

    @property
    def credits(self) -> Path:
        """The account of CPU credits, where the host has some."""
        return self.path / "credits.json"

    @property
    def host_key(self) -> Path:
        """The private key of the SSH server."""
        return self.path / "ssh_host_ed25519_key"

    @property
    def public_host_key(self) -> Path:
        """The public key of the SSH server."""
        return self.path / "ssh_host_ed25519_key.pub"

    @property
    def user_data(self) -> Path:
        """The script that runs at the first boot."""
        return self.path / "user-data"

    @property
    def booted(self) -> Path:
        """A file that exists once the first boot has begun."""
        return self.path / "booted"
