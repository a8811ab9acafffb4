"""A machine image that was made of an instance, and the files by which the hosts' process tells what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ImageSpec:
    """An image that shall be there. `base` is the image that its instance was launched from."""

    image_id: str
    instance_id: str
    base: str


def images_in(state_dir: Path) -> Path:
    """Returns the folder of the images that were made of instances."""
    return state_dir / "images"


@dataclass(frozen=True)
class ImageFiles:
    """The files of one image.

    Attributes:
        snapshot: the copy of the instance's volume. It exists once the image is complete.
        failed: why the image could not be made. It exists if that is so.
        mounted: where the snapshot is mounted.
    """

    snapshot: Path
    failed: Path
    mounted: Path

    @classmethod
    def of(cls, state_dir: Path, image_id: str) -> ImageFiles:
        """Returns the files of an image in a state directory."""
        path = images_in(state_dir) / image_id
        return cls(path.with_suffix(".ext4"), path.with_suffix(".failed"), path)
