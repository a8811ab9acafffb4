"""Where checkpoints, results and prepared corpora are stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, Protocol

RESULTS = "results/"
"""What the names of a training's results begin with."""


class StorageError(RuntimeError):
    """A blob cannot be stored or fetched. The message says which one, where and why."""


class Storage(Protocol):
    """Blobs by name. A name may have slashes. A reader sees a blob whole or not at all."""

    location: str

    def put(self, name: str, data: bytes) -> None:
        """Stores `data` under `name`, in place of what was there. Raises StorageError."""
        ...

    def write(self, name: str, parts: Iterable[bytes | memoryview]) -> None:
        """Stores a blob whose parts come one after another. Only some MiB of it are held in memory.

        Raises:
            StorageError: It cannot be stored. Then there is what was there before.
        """
        ...

    def get(self, name: str, most_bytes: int | None = None) -> bytes | None:
        """Returns the blob, or None where there is none. Raises StorageError, also where it has over `most_bytes`."""
        ...

    def open(self, name: str) -> BinaryIO | None:
        """Opens a blob to be read from its beginning to its end, or returns None where there is none.

        Raises:
            StorageError: It cannot be read, now or while it is read.
        """
        ...

    def names(self, prefix: str = "") -> list[str]:
        """Returns all names that begin with `prefix`, sorted. Raises StorageError."""
        ...

    def delete(self, name: str) -> None:
        """Removes the blob. It is no error if there is none."""
        ...


def check_size(name: str, size: int, most_bytes: int | None) -> None:
    """Raises StorageError where a blob of `size` bytes is larger than it may be."""
    if most_bytes is not None and size > most_bytes:
        raise StorageError(f"{name} has {size:,} bytes, more than the {most_bytes:,} that are read")
