"""A storage in a directory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from trainer.files.atomic import PARTIAL_PREFIX, replaced
from trainer.storage.storage import StorageError, check_size


class DirectoryStorage:
    """A directory. Every rank must see the same one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.location = str(directory)

    def put(self, name: str, data: bytes) -> None:
        """Writes the file, so that it survives a power failure."""
        self.write(name, [data])

    def write(self, name: str, parts: Iterable[bytes | memoryview]) -> None:
        """Writes the file part by part, so that it survives a power failure."""
        path = self._directory / name
        try:
            with replaced(path, durable=True) as temporary, temporary.open("wb") as file:
                for part in parts:
                    file.write(part)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error

    def get(self, name: str, most_bytes: int | None = None) -> bytes | None:
        """Returns the content of the file."""
        try:
            check_size(f"{self._directory / name}", (self._directory / name).stat().st_size, most_bytes)
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"{self._directory / name} cannot be read: {error}") from error

    def open(self, name: str) -> BinaryIO | None:
        """Opens the file."""
        try:
            return (self._directory / name).open("rb")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"{self._directory / name} cannot be read: {error}") from error

    def names(self, prefix: str = "") -> list[str]:
        """Returns the paths of the files in the directory, without unfinished ones."""
        found = (
            path for path in self._directory.rglob("*") if path.is_file() and not path.name.startswith(PARTIAL_PREFIX)
        )
        return sorted(
            name for path in found if (name := path.relative_to(self._directory).as_posix()).startswith(prefix)
        )

    def delete(self, name: str) -> None:
        """Removes the file."""
        (self._directory / name).unlink(missing_ok=True)
