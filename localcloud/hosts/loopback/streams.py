"""Bytes from one stream to another, whether of asyncio or of asyncssh."""

from __future__ import annotations

from typing import Protocol

CHUNK_BYTES = 65_536


class Source(Protocol):
    """What can be read from; b"" at its end."""

    async def read(self, n: int = -1) -> bytes:
        """At most n bytes, as soon as there are some."""
        ...


class Sink(Protocol):
    """What can be written to."""

    def write(self, data: bytes) -> None:
        """Take data to send."""
        ...

    async def drain(self) -> None:
        """Wait until there is room for more."""
        ...


async def copy(source: Source, sink: Sink) -> None:
    """Until the end of source. What either raises is passed on."""
    while data := await source.read(CHUNK_BYTES):
        sink.write(data)
        await sink.drain()
