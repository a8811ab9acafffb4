"""Starts and stops hosts until those that run are those that are wanted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from localcloud.hosts.host import Host
from localcloud.link.spec import HostSpec

log = logging.getLogger("localcloud.hosts")


class Supervisor:
    """All hosts of a cloud. `make_host` returns the host of a specification, not yet started."""

    def __init__(self, make_host: Callable[[HostSpec], Host]) -> None:
        self._make_host = make_host
        self._wanted: dict[str, HostSpec] = {}
        self._hosts: dict[str, Host] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def want(self, specs: list[HostSpec]) -> None:
        """Replaces the list of hosts that shall run."""
        self._wanted = {spec.instance_id: spec for spec in specs}
        self._converge()

    async def end(self) -> None:
        """Stops all hosts and waits until they have stopped."""
        self.want([])
        while self._tasks:
            await asyncio.wait(set(self._tasks.values()))
            await asyncio.sleep(0)

    def _converge(self) -> None:
        for instance_id in {*self._wanted, *self._hosts}:
            if instance_id in self._tasks:
                continue  # a host that starts or stops finishes that first; `_finish` then calls `_converge` again
            host, spec = self._hosts.get(instance_id), self._wanted.get(instance_id)
            if host is None and spec is not None:
                self._hosts[instance_id] = self._make_host(spec)
                self._begin(instance_id, self._hosts[instance_id].start())
            elif host is not None and (spec is None or spec.boot != host.spec.boot):
                self._begin(instance_id, self._stop(instance_id))
            elif host is not None and spec is not None:
                host.update(spec)

    def _begin(self, instance_id: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[instance_id] = asyncio.create_task(self._finish(instance_id, work))

    async def _finish(self, instance_id: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:  # a defect in one host must not end the others
            log.exception("%s: the host's start or stop failed unexpectedly", instance_id)
        del self._tasks[instance_id]
        self._converge()

    async def _stop(self, instance_id: str) -> None:
        await self._hosts[instance_id].stop()
        del self._hosts[instance_id]
