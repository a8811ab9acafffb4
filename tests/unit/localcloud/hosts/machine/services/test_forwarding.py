"""Connections of a machine are carried to the API, and stand still while the machine is cut off."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest

from localcloud.hosts.machine.services.forwarding import Forwarding


async def _shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers what it reads up to the end, in capitals."""
    writer.write((await reader.read()).upper())
    writer.close()


@contextlib.asynccontextmanager
async def _forwarded(open_way: asyncio.Event):  # type: ignore[no-untyped-def]
    server = await asyncio.start_server(_shout, "127.0.0.1", 0)
    door = socket.create_server(("127.0.0.1", 0))
    door.setblocking(False)
    one = Forwarding(door, "127.0.0.1", server.sockets[0].getsockname()[1], open_way)
    await one.start()
    address = door.getsockname()
    try:
        yield address
    finally:
        await one.stop()
        server.close()


def test_bytes_are_carried_in_both_directions_up_to_both_ends() -> None:
    async def check() -> None:
        open_way = asyncio.Event()
        open_way.set()
        async with _forwarded(open_way) as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"hello" * 100_000)
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), 30) == b"HELLO" * 100_000
            writer.close()

    asyncio.run(check())


def test_a_machine_that_is_cut_off_hears_nothing_until_it_is_joined_again() -> None:
    async def check() -> None:
        open_way = asyncio.Event()
        async with _forwarded(open_way) as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"hello")
            writer.write_eof()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(reader.read(1), 0.2)
            open_way.set()
            assert await asyncio.wait_for(reader.read(), 30) == b"HELLO"
            writer.close()

    asyncio.run(check())


def test_an_api_that_does_not_listen_closes_the_connection() -> None:
    async def check() -> None:
        open_way = asyncio.Event()
        open_way.set()
        free = socket.create_server(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        door = socket.create_server(("127.0.0.1", 0))
        door.setblocking(False)
        one = Forwarding(door, "127.0.0.1", port, open_way)
        await one.start()
        reader, writer = await asyncio.open_connection(*door.getsockname())
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()
        await one.stop()

    asyncio.run(check())
