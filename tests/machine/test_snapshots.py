"""Images of machines as layers: what a volume holds lies over the image below, and what it lacks is gone there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.hosts.machine import record
from localcloud.hosts.machine.cleanup import leftovers, remove_leftovers
from localcloud.hosts.machine.disk.snapshots import Snapshots
from localcloud.hosts.machine.disk.volume import Volume
from localcloud.hosts.machine.tools import MachineError
from localcloud.link.image import ImageFiles, ImageSpec, images_in
from localcloud.link.instance_dir import InstanceDir
from tests.support.machine_cloud import random_ranges

pytestmark = [pytest.mark.slow, pytest.mark.needs_tool("machines")]
FIRST, SECOND = ImageSpec("ami-1", "i-1", "ami-debian"), ImageSpec("ami-2", "i-2", "ami-1")


def _mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    """A root file system with two files and a folder."""
    root = tmp_path / "debian"
    (root / "folder").mkdir(parents=True)
    for name in ("kept", "deleted", "folder/old"):
        (root / name).write_text("of Debian")
    return root


@pytest.fixture
def nothing_stays_mounted() -> Iterator[None]:
    """Compares the mounts of this machine."""
    before = _mounts()
    yield
    assert _mounts() == before


def _volume(state_dir: Path, instance_id: str) -> Volume:
    return Volume(InstanceDir.of(state_dir, instance_id).path, 1)


async def _follow(snapshots: Snapshots, *wanted: ImageSpec) -> None:
    snapshots.follow(wanted)
    await snapshots.end()


@pytest.mark.usefixtures("nothing_stays_mounted")
def test_an_image_of_an_image_has_what_both_machines_did(tmp_path: Path, debian: Path) -> None:
    snapshots = Snapshots(tmp_path)
    one, two, three = (_volume(tmp_path, f"i-{number}") for number in (1, 2, 3))
    one.attach([*snapshots.layers("ami-debian"), debian])
    (one.root / "deleted").unlink()
    (one.root / "written").write_text("by the first")
    (one.root / "folder" / "old").unlink()
    (one.root / "folder").rmdir()
    (one.root / "folder").mkdir()
    one.detach()
    asyncio.run(_follow(snapshots, FIRST))
    two.attach([*snapshots.layers("ami-1"), debian])
    (two.root / "written").write_text("by the second")
    two.detach()
    asyncio.run(_follow(snapshots, FIRST, SECOND))
    three.attach([*snapshots.layers("ami-2"), debian])
    try:
        assert {path.name: path.is_file() for path in three.root.iterdir()} == {
            "kept": True, "written": True, "folder": False,
        }  # fmt: skip
        assert (three.root / "written").read_text() == "by the second"
        assert list((three.root / "folder").iterdir()) == [], "what was deleted before a folder was made anew"
    finally:
        three.detach()
    one.attach([debian])
    assert (one.root / "written").read_text() == "by the first", "the machine itself goes on from where it was"
    one.detach()
    asyncio.run(_follow(snapshots))
    assert list(images_in(tmp_path).iterdir()) == []


@pytest.mark.usefixtures("nothing_stays_mounted")
def test_an_image_of_a_machine_without_a_volume_says_why_it_failed(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    asyncio.run(_follow(snapshots, FIRST))
    files = ImageFiles.of(tmp_path, "ami-1")
    assert "No such file" in files.failed.read_text() and not files.snapshot.exists()
    with pytest.raises(MachineError, match="its image ami-1 is not there"):
        snapshots.layers("ami-1")
    asyncio.run(_follow(snapshots))
    assert not files.failed.exists()


@pytest.mark.usefixtures("nothing_stays_mounted")
def test_a_volume_that_is_copied_is_named_and_waited_for(tmp_path: Path, debian: Path) -> None:
    volume = _volume(tmp_path, "i-1")
    volume.attach([debian])
    volume.detach()

    async def copy_and_wait() -> None:
        snapshots = Snapshots(tmp_path)
        snapshots.follow([FIRST])
        assert snapshots.copied == {"i-1"}
        await snapshots.volume_is_free("i-2")
        assert snapshots.copied == {"i-1"}
        await snapshots.volume_is_free("i-1")
        assert snapshots.copied == set() and ImageFiles.of(tmp_path, "ami-1").snapshot.exists()
        snapshots.follow([])

    asyncio.run(copy_and_wait())


@pytest.mark.usefixtures("nothing_stays_mounted")
def test_images_of_a_cloud_that_was_killed_are_removed(tmp_path: Path, debian: Path) -> None:
    volume = _volume(tmp_path, "i-1")
    volume.attach([debian])
    volume.detach()
    snapshots = Snapshots(tmp_path)
    asyncio.run(_follow(snapshots, FIRST))
    machine = _volume(tmp_path, "i-2")
    machine.attach([*snapshots.layers("ami-1"), debian])
    ranges = random_ranges()
    record.write(tmp_path, record.Record(private_cidr=ranges["private_cidr"], public_cidr=ranges["public_cidr"]))
    assert any("images/ami-1" in left for left in leftovers(tmp_path))
    remove_leftovers(tmp_path)
    assert leftovers(tmp_path) == [] and not images_in(tmp_path).exists()
