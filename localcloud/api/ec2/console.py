"""The console of an instance, which GetConsoleOutput shows."""

from __future__ import annotations

from localcloud.link.instance_dir import InstanceDir


def console_of(directory: InstanceDir) -> str:
    """Returns what the user data printed, and the public key of the SSH server in the form of cloud images."""
    console, key = directory.console, directory.public_host_key
    printed = console.read_text(errors="replace") if console.exists() else ""
    if key.exists():
        printed += f"-----BEGIN SSH HOST KEY KEYS-----\n{key.read_text().strip()}\n-----END SSH HOST KEY KEYS-----\n"
    return printed
