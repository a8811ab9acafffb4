"""A way through a host to another address (SSH's direct-tcpip), which is what ProxyJump and ``ssh -W`` use.

asyncssh can do it by itself, but 2.21.1 to 2.24.1 never close the channel when the other address ends its side first. A
client that waits for it, as OpenSSH's does where hang-ups are ignored (nohup), then waits for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Protocol

import asyncssh
from asyncssh.stream import SSHTCPStreamSession

from localcloud.hosts.loopback.streams import Sink, Source, copy


class _Half(Sink, Protocol):
    def write_eof(self) -> None: ...


async def open_passage(address: str, port: int) -> SSHTCPStreamSession[bytes]:
    """Connect, and give the session that carries bytes there and back. Raises ChannelOpenError when nobody answers."""
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError as error:
        raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, str(error)) from error
    return SSHTCPStreamSession(partial(_carry, reader, writer))


async def _carry(
    from_address: asyncio.StreamReader,
    to_address: asyncio.StreamWriter,
    from_client: asyncssh.SSHReader[bytes],
    to_client: asyncssh.SSHWriter[bytes],
) -> None:
    """Either side may end before the other; when both have, or one breaks, both are closed."""
    try:
        with contextlib.suppress(OSError, asyncssh.Error):
            await asyncio.gather(_pump(from_client, to_address), _pump(from_address, to_client))
    finally:
        to_address.close()
        to_client.close()


async def _pump(source: Source, sink: _Half) -> None:
    await copy(source, sink)
    sink.write_eof()
