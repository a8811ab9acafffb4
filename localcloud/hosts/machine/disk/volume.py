"""The volume of one machine: an ext4 file system in a sparse file, as the upper layer over its image."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path

from localcloud.hosts.machine.tools import MachineError, run
from localcloud.link.instance_dir import InstanceDir, instances_in

GIB = 1024**3
SMALLEST_PIECE_BYTES = 4096
FILE = "volume.ext4"
UPPER = "upper"
"""The folder in the file system with what the machine has written."""


def volumes_in(state_dir: Path) -> list[Path]:
    """Returns the files of all volumes in a state folder. Each lies in the folder of its instance."""
    return sorted(instances_in(state_dir).glob(f"*/{FILE}"))


def volume_of(state_dir: Path, instance_id: str) -> Path:
    """Returns the file of an instance's volume."""
    return InstanceDir.of(state_dir, instance_id).path / FILE


class Volume:
    """The disk of an instance in the folder `path`. It outlives a stop of the instance, and a reboot.

    The volume has the size that the launch asked for. On this machine it takes what is really written.
    """

    def __init__(self, path: Path, size_gb: int) -> None:
        self._path = path
        self._size_gb = size_gb

    @property
    def root(self) -> Path:
        """The root file system, while it is attached."""
        return self._path / "root"

    @property
    def _file(self) -> Path:
        return self._path / FILE

    @property
    def _mounted(self) -> Path:
        return self._path / "volume"

    @property
    def _filler(self) -> Path:
        return self._mounted / "filler"

    def attach(self, image: Sequence[Path]) -> None:
        """Makes the volume, unless there is one, and mounts it over the image.

        Args:
            image: the folders that the image consists of, the upmost first.

        Raises:
            MachineError: it cannot be made or mounted. Nothing stays mounted then.
        """
        try:
            for folder in (self.root, self._mounted):
                folder.mkdir(parents=True, exist_ok=True)
            if not self._file.exists():
                self._make()
            run("mount", "-o", "loop", str(self._file), str(self._mounted))
            upper, work = self._mounted / UPPER, self._mounted / "work"
            upper.mkdir(exist_ok=True)
            work.mkdir(exist_ok=True)
            upper.chmod(0o755)
            layers = f"lowerdir={':'.join(map(str, image))},upperdir={upper},workdir={work}"
            run("mount", "-t", "overlay", "overlay", "-o", layers, str(self.root))
        except (OSError, MachineError) as error:
            self.detach()
            raise MachineError(f"the volume in {self._path} cannot be used: {error}") from None

    def detach(self) -> None:
        """Unmounts the volume. Harmless if it is not mounted."""
        for folder in (self.root, self._mounted):
            if folder.is_mount():
                run("umount", str(folder))

    def fill(self) -> None:
        """Lets the volume be full: whoever writes gets ENOSPC. The space is reserved, not written."""
        with self._filler.open("ab") as filler:
            piece = 2**40
            while piece >= SMALLEST_PIECE_BYTES:
                try:
                    os.posix_fallocate(filler.fileno(), filler.seek(0, os.SEEK_END), piece)
                except OSError as error:
                    if error.errno not in (errno.ENOSPC, errno.EFBIG):
                        raise
                    piece //= 2

    def free(self) -> None:
        """Gives the space back that `fill` took."""
        with contextlib.suppress(OSError):
            self._filler.unlink(missing_ok=True)

    def _make(self) -> None:
        new = self._file.with_suffix(".new")
        try:
            with new.open("wb") as file:
                file.truncate(self._size_gb * GIB)
            run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1", str(new))
            new.replace(self._file)
        finally:
            new.unlink(missing_ok=True)
