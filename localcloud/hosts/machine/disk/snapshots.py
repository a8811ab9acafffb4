"""Images that were made of machines. Each is a copy of a machine's volume, as a further layer over the image below."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from localcloud.hosts.machine.disk.volume import UPPER, volume_of
from localcloud.hosts.machine.tools import MachineError, run
from localcloud.link.image import ImageFiles, ImageSpec

COPY_LIMIT_S = 900.0

log = logging.getLogger("localcloud.hosts")


class Snapshots:
    """All images of a cloud that were made of machines.

    A snapshot is the volume's whole file, so that what the machine deleted of its image stays deleted. It is mounted
    once, for all machines that are launched from it.
    """

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._specs: dict[str, ImageSpec] = {}
        self._making: dict[str, asyncio.Task[None]] = {}

    def follow(self, wanted: Sequence[ImageSpec]) -> None:
        """Begins to make the images that are new, and deletes those that shall not be there any more."""
        kept = {spec.image_id for spec in wanted}
        for image_id in self._specs.keys() - kept - self._making.keys():
            del self._specs[image_id]
            _delete(ImageFiles.of(self._state_dir, image_id))
        for spec in wanted:
            if spec.image_id not in self._specs:
                self._specs[spec.image_id] = spec
                self._making[spec.image_id] = asyncio.create_task(self._make(spec))

    @property
    def copied(self) -> set[str]:
        """The ids of the instances whose volumes are being copied."""
        return {self._specs[image_id].instance_id for image_id in self._making}

    async def volume_is_free(self, instance_id: str) -> None:
        """Waits until no copy of an instance's volume is being made."""
        tasks = [task for image_id, task in self._making.items() if self._specs[image_id].instance_id == instance_id]
        await asyncio.gather(*tasks)

    def layers(self, image_id: str) -> list[Path]:
        """Returns the folders that an image lays over the image of Debian, the upmost first.

        Raises:
            MachineError: an image was not made.
        """
        found = []
        while spec := self._specs.get(image_id):
            files = ImageFiles.of(self._state_dir, image_id)
            if not files.snapshot.exists():
                raise MachineError(f"its image {image_id} is not there; launch it when the image is `available`")
            found.append(files.mounted / UPPER)
            image_id = spec.base
        return found

    async def end(self) -> None:
        """Waits until nothing is being copied any more."""
        await asyncio.gather(*self._making.values())

    async def _make(self, spec: ImageSpec) -> None:
        files = ImageFiles.of(self._state_dir, spec.image_id)
        try:
            await asyncio.to_thread(_copy, volume_of(self._state_dir, spec.instance_id), files)
        except (MachineError, OSError) as error:
            log.error("%s: no image can be made of %s: %s", spec.image_id, spec.instance_id, error)
            _delete(files)
            files.failed.write_text(str(error))
        finally:
            del self._making[spec.image_id]


def _copy(volume: Path, files: ImageFiles) -> None:
    """Copies a volume and mounts the copy. Its file gets its name last, because that says that the image is there."""
    files.mounted.mkdir(parents=True, exist_ok=True)
    new = files.snapshot.with_suffix(".new")
    try:
        run("cp", "--sparse=always", str(volume), str(new), limit_s=COPY_LIMIT_S)
        run("mount", "-o", "loop,ro", str(new), str(files.mounted))
        new.replace(files.snapshot)
    finally:
        new.unlink(missing_ok=True)


def _delete(files: ImageFiles) -> None:
    """Deletes an image. One that cannot be unmounted stays until the cloud ends."""
    try:
        if files.mounted.is_mount():
            run("umount", str(files.mounted))
        if files.mounted.is_dir():
            files.mounted.rmdir()
    except (MachineError, OSError) as error:
        log.error("an image stays in %s until `down`: %s", files.mounted, error)
    files.snapshot.unlink(missing_ok=True)
    files.failed.unlink(missing_ok=True)
