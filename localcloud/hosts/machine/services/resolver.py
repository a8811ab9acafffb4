"""The VPC's name server: it passes questions on to this machine's own name server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import cast

ANSWER_LIMIT_S = 10.0
LARGEST_BYTES = 65_535
DNS_PORT = 53


class Resolver(asyncio.DatagramProtocol):
    """Answers questions that arrive on a datagram socket.

    Args:
        name_server: the address that the questions go to.
        open_way: while it is not set, no question is answered.
    """

    def __init__(self, name_server: str, open_way: asyncio.Event) -> None:
        self._name_server = name_server
        self._open_way = open_way
        self._transport: asyncio.DatagramTransport | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, door: socket.socket) -> None:
        """Starts to answer."""
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=door)

    def stop(self) -> None:
        """Stops answering."""
        for task in self._tasks:
            task.cancel()
        if self._transport:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport, by which answers go back."""
        self._transport = cast(asyncio.DatagramTransport, transport)  # asyncio's own is no instance of that class

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Passes a question on."""
        if self._open_way.is_set():
            task = asyncio.get_running_loop().create_task(self._answer(data, addr))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, question: bytes, asker: tuple[str, int]) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, contextlib.suppress(OSError, TimeoutError):
            one.setblocking(False)
            one.connect((self._name_server, DNS_PORT))
            await loop.sock_sendall(one, question)
            answer = await asyncio.wait_for(loop.sock_recv(one, LARGEST_BYTES), ANSWER_LIMIT_S)
            if self._transport and self._open_way.is_set():
                self._transport.sendto(answer, asker)
