"""Control groups, of both versions, in a folder that stands for the kernel's."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from localcloud.hosts.machine.boot.cgroups import ControlGroups, clouds_groups, limits, remove_trees


def _hierarchies(root: Path, version: int) -> None:
    if version == 2:
        (root / "cgroup.controllers").write_text("cpu memory")
    else:
        for name in ("systemd", "unified", "memory", "cpu", "freezer"):
            (root / name).mkdir()


@pytest.mark.parametrize(("version", "count"), [(1, 5), (2, 1)])
def test_a_machine_has_a_group_in_each_hierarchy(tmp_path: Path, version: int, count: int) -> None:
    _hierarchies(tmp_path, version)
    groups = ControlGroups("cvabc123", "i-1", tmp_path)
    groups.make(1024, 2)
    assert len(groups.entrances) == count
    assert all(path.parent.is_dir() and path.parent.name == "i-1" for path in groups.entrances)
    assert len(clouds_groups("cvabc123", tmp_path)) == count


def test_a_group_gets_the_limits_whose_files_it_has(tmp_path: Path) -> None:
    _hierarchies(tmp_path, 1)
    groups = ControlGroups("cvabc123", "i-1", tmp_path)
    groups.make(1024, 2)
    for hierarchy, name in (("memory", "memory.limit_in_bytes"), ("cpu", "cpu.cfs_quota_us")):
        (tmp_path / hierarchy / "cvabc123" / "i-1" / name).touch()
    groups.make(1024, 2)
    assert (tmp_path / "memory/cvabc123/i-1/memory.limit_in_bytes").read_text() == str(1024**3)
    assert (tmp_path / "cpu/cvabc123/i-1/cpu.cfs_quota_us").read_text() == "200000"
    assert not (tmp_path / "systemd/cvabc123/i-1/memory.limit_in_bytes").exists()


def test_limits_are_those_of_the_type_in_both_versions() -> None:
    found = limits(2048, 2)
    assert found["memory.max"] == found["memory.limit_in_bytes"] == str(2 * 1024**3)
    assert found["cpu.max"] == "200000 100000"


def test_removing_groups_removes_those_below_and_the_clouds(tmp_path: Path) -> None:
    _hierarchies(tmp_path, 1)
    groups = ControlGroups("cvabc123", "i-1", tmp_path)
    groups.make(1024, 1)
    (tmp_path / "memory/cvabc123/i-1/payload/system.slice").mkdir(parents=True)
    groups.remove()
    groups.remove()
    assert clouds_groups("cvabc123", tmp_path) == []


def test_a_group_whose_processes_are_still_ending_is_removed_when_they_have_ended(tmp_path: Path) -> None:
    (tmp_path / "i-1" / "payload").mkdir(parents=True)
    process = tmp_path / "i-1" / "payload" / "a process"
    process.touch()
    ending = threading.Timer(0.2, process.unlink)
    ending.start()
    remove_trees([tmp_path / "i-1"], limit_s=60.0)
    ending.join()
    assert not (tmp_path / "i-1").exists()
    (tmp_path / "i-2").mkdir()
    (tmp_path / "i-2" / "a process that stays").touch()
    remove_trees([tmp_path / "i-2"], limit_s=0.1)
    assert (tmp_path / "i-2").exists()
