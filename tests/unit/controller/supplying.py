"""A bucket in memory, and builders of wheelhouses, for tests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from controller.domain.errors import SupplyError
from controller.edges.supplying.wheel_builder import Built

DIGEST = "d" * 64


class WorldStore:
    """Buckets in memory. `writes` lists the keys in the order in which they were written."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.writes: list[str] = []

    def has(self, bucket: str, key: str) -> bool:
        return (bucket, key) in self.objects

    def read(self, bucket: str, key: str) -> bytes | None:
        return self.objects.get((bucket, key))

    def upload(self, bucket: str, key: str, path: Path) -> None:
        self.write(bucket, key, path.read_bytes())

    def write(self, bucket: str, key: str, content: bytes) -> None:
        self.objects[bucket, key] = content
        self.writes.append(key)

    def url_to_read(self, bucket: str, key: str, valid_s: float) -> str:
        return f"https://{bucket}.example/{key}?valid={valid_s:.0f}"

    def url_to_write(self, bucket: str, key: str, valid_s: float) -> str:
        return f"https://{bucket}.example/{key}?write"


class NoBuilder:
    """No wheelhouse can be built, and none is needed."""

    def describe(self, python: str, glibc: str) -> Built:
        raise SupplyError("nobody asked for a wheelhouse")

    build = describe

    def sources(self, into: Path) -> None:
        raise SupplyError("nobody asked for a wheelhouse")


class Builder:
    """Builds a wheelhouse of a few bytes, unless it has a misfit."""

    def __init__(self, folder: Path, misfit: str = "") -> None:
        self.folder, self.misfit, self.builds = folder, misfit, 0

    def describe(self, python: str, glibc: str) -> Built:
        archive = self.folder / "built.tar"
        if not archive.exists():
            return Built(DIGEST, self.misfit, None, None)
        return Built(DIGEST, self.misfit, manifest(archive.read_bytes()), archive)

    def build(self, python: str, glibc: str) -> Built:
        if self.misfit:
            raise SupplyError(f"it can't be built here: {self.misfit}")
        self.builds += 1
        (self.folder / "built.tar").write_bytes(b"wheels")
        return self.describe(python, glibc)

    def sources(self, into: Path) -> None:
        into.write_bytes(b"sources")


def manifest(archive: bytes) -> dict[str, Any]:
    """The manifest of a wheelhouse with this archive."""
    return {
        "format": 1,
        "digest": DIGEST,
        "python": "3.11",
        "abi": "cp311",
        "machine": "x86_64",
        "glibc": "2.36",
        "size": len(archive),
        "sha256": hashlib.sha256(archive).hexdigest(),
        "files": {},
    }
