"""The SSH command that reaches a node."""

from __future__ import annotations

from trainer.launch.options import LaunchOptions

_COMMAND = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3")


def ssh_command(options: LaunchOptions, address: str) -> list[str]:
    """Returns the command that attaches to the worker of the node at `address`.

    The user's own SSH settings and known hosts are neither read nor written.
    """
    command = [*_COMMAND, *_host_keys(options)]
    if options.ssh_identity_file is not None:
        command += ["-i", str(options.ssh_identity_file), "-o", "IdentitiesOnly=yes"]
    if options.ssh_port is not None:
        command += ["-p", str(options.ssh_port)]
    if options.ssh_user is not None:
        command += ["-l", options.ssh_user]
    return [*command, address, options.attach_command]


def _host_keys(options: LaunchOptions) -> list[str]:
    """Returns the options that decide which host keys are trusted: the given configuration, or those seen first."""
    if options.ssh_config is not None:
        return ["-F", str(options.ssh_config)]
    known_hosts = f"UserKnownHostsFile={options.results / 'known_hosts'}"
    trusted = ["-o", known_hosts, "-o", "GlobalKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=accept-new"]
    return ["-F", "/dev/null", *trusted, "-o", "LogLevel=ERROR"]
