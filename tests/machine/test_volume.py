"""The volume of a machine on a disk that is full, and a loop device that is taken."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.hosts.machine.disk.volume import Volume
from localcloud.hosts.machine.tools import MachineError

pytestmark = [pytest.mark.slow, pytest.mark.needs_tool("machines")]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 200 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A root file system with one file."""
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "of-the-image").write_text("1")
    return tmp_path / "image"


def _mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


def test_a_volume_on_a_full_disk_is_refused_and_leaves_nothing(small_disk: Path, image: Path) -> None:
    before = _mounts()
    with pytest.raises(MachineError, match=f"the volume in {small_disk}/i-1 cannot be used"):
        Volume(small_disk / "i-1", 8).attach([image])
    assert _mounts() == before
    assert not list(small_disk.glob("i-1/volume.ext4*")), "nothing half-made"


def test_a_volume_keeps_what_is_written_and_the_image_stays_as_it_is(tmp_path: Path, image: Path) -> None:
    before = _mounts()
    volume = Volume(tmp_path / "i-1", 1)
    volume.attach([image])
    (volume.root / "of-the-image").write_text("2")
    volume.detach()
    volume.detach()
    assert _mounts() == before
    again = Volume(tmp_path / "i-1", 1)
    again.attach([image])
    assert (again.root / "of-the-image").read_text() == "2"
    again.detach()
    assert (image / "of-the-image").read_text() == "1"


def test_an_image_that_is_gone_is_told_and_nothing_stays_mounted(tmp_path: Path) -> None:
    before = _mounts()
    with pytest.raises(MachineError, match="cannot be used: `mount -t overlay"):
        Volume(tmp_path / "i-1", 1).attach([tmp_path / "missing"])
    assert _mounts() == before


def test_a_full_volume_takes_nothing_until_there_is_room_again(tmp_path: Path, image: Path) -> None:
    volume = Volume(tmp_path / "i-1", 1)
    volume.attach([image])
    try:
        volume.fill()
        with pytest.raises(OSError, match="No space left"):
            (volume.root / "file").write_bytes(b"0" * 1_000_000)
        assert (tmp_path / "i-1" / "volume.ext4").stat().st_blocks * 512 < 200_000_000, "reserved, not written"
        volume.free()
        (volume.root / "file").write_bytes(b"0" * 1_000_000)
    finally:
        volume.detach()
