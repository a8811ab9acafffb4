"""Carrying the connections of a machine to an address outside of its namespace."""

from __future__ import annotations

import asyncio
import contextlib
import socket

CHUNK_BYTES = 65_536


class Forwarding:
    """Accepts connections on a socket, and carries each to a target.

    Args:
        door: a socket that listens.
        address: the target's address, as this process sees it.
        port: the target's port.
        open_way: while it is not set, nothing is carried, and nothing is said to either side.
    """

    def __init__(self, door: socket.socket, address: str, port: int, open_way: asyncio.Event) -> None:
        self._door = door
        self._target = (address, port)
        self._open_way = open_way
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Starts to accept connections."""
        self._server = await asyncio.start_server(self._accept, sock=self._door)

    async def stop(self) -> None:
        """Ends all connections."""
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            await self._open_way.wait()
            await self._carry(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_target: asyncio.StreamWriter
        from_target, to_target = await asyncio.open_connection(*self._target)
        try:
            await asyncio.gather(self._copy(reader, to_target), self._copy(from_target, writer))
        finally:
            to_target.close()

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(CHUNK_BYTES):
            await self._open_way.wait()
            sink.write(data)
            await sink.drain()
        with contextlib.suppress(OSError):
            sink.write_eof()
