"""SSH reaches a node without the user's own settings."""

from __future__ import annotations

from pathlib import Path

from trainer.launch.options import LaunchOptions
from trainer.launch.ssh import ssh_command


def options(directory: Path, **given: object) -> LaunchOptions:
    return LaunchOptions(directory / "hosts", directory, "attach it", "lo", **given)  # type: ignore[arg-type]


def test_ssh_leaves_the_user_s_settings_and_known_hosts_alone(tmp_path: Path) -> None:
    command = ssh_command(options(tmp_path, ssh_port=2222, ssh_identity_file=Path("key")), "10.0.0.5")
    assert command[-2:] == ["10.0.0.5", "attach it"]
    assert command[command.index("-F") + 1] == "/dev/null"
    assert f"UserKnownHostsFile={tmp_path}/known_hosts" in command
    assert command[command.index("-p") + 1] == "2222"


def test_a_given_ssh_configuration_decides_about_host_keys(tmp_path: Path) -> None:
    command = ssh_command(options(tmp_path, ssh_config=Path("mine")), "10.0.0.5")
    assert command[command.index("-F") + 1] == "mine"
    assert not any("KnownHosts" in word or "StrictHostKeyChecking" in word for word in command)
