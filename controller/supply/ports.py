"""What supplying needs of the edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from controller.edges.supplying.wheel_builder import Built


class StorePort(Protocol):
    """The part of `edges.supplying.store.Store` that is used here. Every method raises AwsError."""

    def has(self, bucket: str, key: str) -> bool: ...

    def read(self, bucket: str, key: str) -> bytes | None: ...

    def upload(self, bucket: str, key: str, path: Path) -> None: ...

    def write(self, bucket: str, key: str, content: bytes) -> None: ...

    def url_to_read(self, bucket: str, key: str, valid_s: float) -> str: ...

    def url_to_write(self, bucket: str, key: str, valid_s: float) -> str: ...


class BuilderPort(Protocol):
    """The part of `edges.supplying.wheel_builder.WheelBuilder` that is used here. Every method raises SupplyError."""

    def describe(self, python: str, glibc: str) -> Built: ...

    def build(self, python: str, glibc: str) -> Built: ...

    def sources(self, into: Path) -> None: ...


BuildOnHead = Callable[[Path, str], Mapping[str, Any]]
"""Builds a wheelhouse on the head from these sources (a zip archive), unless the head has it, and returns its manifest.
Where a URL is given, the archive is uploaded there. Raises AnsibleError."""
