"""Forwarding a connection through a host to another address (`direct-tcpip`), which `ProxyJump` and `ssh -W` use.

asyncssh can forward by itself. But its versions 2.21.1 to 2.24.1 never close the channel when the other address ends
its side first. OpenSSH's client waits for that end if it ignores hang-ups (`nohup`), and so would wait forever.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Protocol

import asyncssh
from asyncssh.stream import SSHTCPStreamSession

from localcloud.hosts.loopback.streams import Sink, Source, copy


class _ClosableSink(Sink, Protocol):
    def write_eof(self) -> None: ...


async def open_forwarding(address: str, port: int) -> SSHTCPStreamSession[bytes]:
    """Connects to an address, and returns the session that carries bytes in both directions.

    Raises:
        asyncssh.ChannelOpenError: nobody answers at the address.
    """
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
    """Copies in both directions. Closes both sides when both have ended, or as soon as one breaks."""
    try:
        with contextlib.suppress(OSError, asyncssh.Error):
            await asyncio.gather(_copy_to_end(from_client, to_address), _copy_to_end(from_address, to_client))
    finally:
        to_address.close()
        to_client.close()


async def _copy_to_end(source: Source, sink: _ClosableSink) -> None:
    await copy(source, sink)
    sink.write_eof()
