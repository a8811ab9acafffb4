"""A storage in a directory."""

from __future__ import annotations

from pathlib import Path

from trainer.checkpoint.storage import StorageError, check_size
from trainer.files.atomic import PARTIAL_PREFIX, write_atomically


class DirectoryStorage:
    """A directory. Every rank must see the same one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.location = str(directory)

    def put(self, name: str, data: bytes) -> None:
        """Writes the file, so that it survives a power failure."""
        path = self._directory / name
        try:
            write_atomically(path, data, durable=True)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error}") from error

    def get(self, name: str, most_bytes: int | None = None) -> bytes | None:
        """Returns the content of the file."""
        try:
            check_size(f"{self._directory / name}", (self._directory / name).stat().st_size, most_bytes)
            return (self._directory / name).read_bytes()
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
