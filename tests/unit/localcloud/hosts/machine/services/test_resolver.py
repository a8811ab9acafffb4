"""The VPC's name server passes questions on, and is silent while a machine is cut off."""

from __future__ import annotations

import asyncio
import socket

import pytest

from localcloud.hosts.machine.services import resolver
from localcloud.hosts.machine.services.resolver import Resolver


class _NameServer(asyncio.DatagramProtocol):
    """Answers each question with itself, reversed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.transport.sendto(data[::-1], addr)  # type: ignore[attr-defined]


def _door() -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("127.0.0.1", 0))
    one.setblocking(False)
    return one


async def _ask(address: tuple[str, int], question: bytes, limit_s: float) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setblocking(False)
        one.connect(address)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(one, question)
        return await asyncio.wait_for(loop.sock_recv(one, 512), limit_s)


def test_a_question_is_answered_by_this_machines_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        own = _door()
        monkeypatch.setattr(resolver, "DNS_PORT", own.getsockname()[1])
        await asyncio.get_running_loop().create_datagram_endpoint(_NameServer, sock=own)
        open_way, door = asyncio.Event(), _door()
        open_way.set()
        one = Resolver("127.0.0.1", open_way)
        await one.start(door)
        assert await _ask(door.getsockname(), b"abc", 30) == b"cba"
        open_way.clear()
        with pytest.raises(asyncio.TimeoutError):
            await _ask(door.getsockname(), b"abc", 0.2)
        one.stop()

    asyncio.run(check())
