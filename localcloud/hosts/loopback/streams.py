"""Copying bytes from one stream to another, whether the streams are asyncio's or asyncssh's."""

from __future__ import annotations

from typing import Protocol

CHUNK_BYTES = 65_536


class Source(Protocol):
    """A stream that can be read. It gives `b""` at its end."""

    async def read(self, n: int = -1) -> bytes:
        """Returns at most `n` bytes, as soon as there are some."""
        ...


class Sink(Protocol):
    """A stream that can be written."""

    def write(self, data: bytes) -> None:
        """Takes data to send."""
        ...

    async def drain(self) -> None:
        """Waits until there is room for more data."""
        ...


async def copy(source: Source, sink: Sink) -> None:
    """Copies until the source ends. Errors of either stream are passed on."""
    while data := await source.read(CHUNK_BYTES):
        sink.write(data)
        await sink.drain()
