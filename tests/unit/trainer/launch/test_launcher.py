"""The launcher hands Horovod's environment over, and says how it ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainer.launch.done import End
from trainer.launch.launcher import Launcher, environment_of
from trainer.launch.options import LaunchOptions
from trainer.settings.section import section_from
from trainer.settings.training import Settings


def options(directory: Path, **given: object) -> LaunchOptions:
    return LaunchOptions(directory / "hosts", directory, "attach it", "lo", **given)  # type: ignore[arg-type]


def test_only_horovod_s_environment_is_handed_over_and_the_interface_is_the_node_s_own() -> None:
    command = "env HOROVOD_RANK=3 HOROVOD_HOSTNAME=10.0.0.5 HOROVOD_GLOO_IFACE=ens5 PATH='/a b' SECRET=x attach"
    assert environment_of(command) == {"HOROVOD_RANK": "3", "HOROVOD_HOSTNAME": "10.0.0.5"}


def test_a_launcher_that_fails_itself_says_so_where_the_end_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(launcher: Launcher) -> End:
        raise OSError("no space left on device")

    monkeypatch.setattr(Launcher, "_attempt", broken)
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    options = LaunchOptions(tmp_path / "hosts", tmp_path / "results", attach_command="true", network_interface="lo")
    assert Launcher(options, section_from(Settings, {"stop": {"steps": 1}})).run() == 1
    done = json.loads((tmp_path / "results" / "done.json").read_text())
    assert done["status"] == "failed" and "no space left on device" in done["reason"]
