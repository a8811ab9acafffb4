"""Where the files of a prepared corpus lie on this machine. Every file is checked against its digest before use."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import time
from pathlib import Path
from typing import BinaryIO, Protocol

from trainer.data.prepared.manifest import FileEntry, PreparedCorpusError
from trainer.files.atomic import replaced
from trainer.files.lock import only_one
from trainer.storage.storage import StorageError

log = logging.getLogger(__name__)

BLOCK_BYTES = 1 << 20
SHARD_SUFFIXES = (".ids", ".text")
RESERVE_BYTES = 512 << 20
"""What the cache leaves free on the disk, for checkpoints and logs."""
IN_USE_S = 600.0
"""A shard that was asked for within this time may be about to be mapped."""


class CorpusFiles(Protocol):
    """The files of one prepared corpus."""

    def path_of(self, entry: FileEntry) -> Path:
        """Returns the path of a file on this machine, with the content that the manifest promises.

        Raises:
            PreparedCorpusError: It has other content, or is missing.
            StorageError: It cannot be fetched.
        """
        ...


class FilesInFolder:
    """A corpus in a folder of this machine, or in one that all nodes see."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_of(self, entry: FileEntry) -> Path:
        """Returns the path of a file whose digest is right."""
        path = self._folder / entry.name
        if (problem := difference(path, entry)) is not None:
            raise PreparedCorpusError(f"{path} {problem}: copy the corpus again, or prepare it again")
        return path


class FileSource(Protocol):
    """Where the files of a corpus are fetched from."""

    location: str

    def open(self, name: str) -> BinaryIO | None:
        """Opens a file to be read from its beginning to its end, or returns None where there is none."""
        ...


class FetchedFiles:
    """A corpus that lies elsewhere, such as in S3. Each file is fetched once to a folder of this node.

    A file is fetched when it is first needed. The ranks of a node share the folder. A file in it whose content is wrong
    is fetched again. Where the disk has little room left, the files go that were not used for the longest time. A rank
    that has mapped such a file keeps it.
    """

    def __init__(self, source: FileSource, folder: Path) -> None:
        self._source, self._folder = source, folder

    def path_of(self, entry: FileEntry) -> Path:
        """Returns the path of a file, which is fetched where it is missing."""
        path = self._folder / entry.name
        with only_one(path.with_name(f"{path.name}.lock")):
            if path.exists() and (problem := difference(path, entry)) is not None:
                log.warning("%s in the cache %s: it is fetched again", path, problem)
                path.unlink()
            if not path.exists():
                self._make_room(entry.bytes)
                self._fetch(entry, path)
            os.utime(path)
        return path

    def _make_room(self, wanted: int) -> None:
        """Removes files that nobody has used for a while, the oldest first, until there is room for `wanted` bytes."""
        self._folder.mkdir(parents=True, exist_ok=True)
        used = {path: _used_at_s(path) for path in self._folder.rglob("*") if path.suffix in SHARD_SUFFIXES}
        for path, used_at_s in sorted(used.items(), key=lambda one: one[1]):
            is_in_use = time.time() - used_at_s < IN_USE_S
            if shutil.disk_usage(self._folder).free >= wanted + RESERVE_BYTES or is_in_use:
                return
            log.info("%s leaves the cache: the disk has little room", path)
            path.unlink(missing_ok=True)

    def _fetch(self, entry: FileEntry, path: Path) -> None:
        with replaced(path, durable=True) as temporary:
            stream = self._source.open(entry.name)
            where = f"{self._source.location}/{entry.name}"
            if stream is None:
                raise PreparedCorpusError(f"{where} is missing, and the manifest names it: prepare the corpus again")
            try:
                with stream, temporary.open("wb") as file:
                    while block := stream.read(BLOCK_BYTES):
                        file.write(block)
            except OSError as error:
                raise StorageError(f"{where} cannot be copied to {path}: {error}") from error
            if (problem := difference(temporary, entry)) is not None:
                raise PreparedCorpusError(f"{where} {problem}: prepare the corpus again")


def _used_at_s(path: Path) -> float:
    """Returns when a file was used last, as seconds since 1970; 0: another rank of the node has just removed it."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def difference(path: Path, entry: FileEntry) -> str | None:
    """Returns how a file differs from what the manifest says, or None where it does not."""
    try:
        size = path.stat().st_size
        if size != entry.bytes:
            return f"has {size:,} bytes, and the manifest says {entry.bytes:,}"
        if sha256_of(path) != entry.sha256:
            return "has another SHA-256 than the manifest says"
    except FileNotFoundError:
        return "is missing, and the manifest names it"
    return None


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
