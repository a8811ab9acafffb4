"""The process in which all hosts live, apart from the API's so that neither slows the other.

It reads JSON lines on standard input (first the configuration, then, at each change, the complete list of hosts that
shall run), makes it so, and writes a line on standard output for each change of a host. At the end of its input it ends
every host and itself: hosts do not outlive the API.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import asyncssh

from localcloud.hosts.loopback.host import Host, Site
from localcloud.link.spec import HostReport, HostSpec
from localcloud.settings import Settings

LINE_LIMIT_BYTES = 64 * 1024 * 1024

log = logging.getLogger("localcloud.hosts")


class Hosts:
    """Starts and stops hosts until those that run are those that are wanted."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._wanted: dict[str, HostSpec] = {}
        self._hosts: dict[str, Host] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def want(self, specs: list[HostSpec]) -> None:
        """Replace the list of hosts that shall run."""
        self._wanted = {spec.instance_id: spec for spec in specs}
        self._converge()

    async def end(self) -> None:
        """Stop all hosts and wait until they have stopped."""
        self.want([])
        while self._tasks:
            await asyncio.wait(set(self._tasks.values()))
            await asyncio.sleep(0)

    def _converge(self) -> None:
        for instance_id in {*self._wanted, *self._hosts}:
            if instance_id in self._tasks:
                continue  # what is under way is finished first, and then looked at again
            host, spec = self._hosts.get(instance_id), self._wanted.get(instance_id)
            if host is None and spec is not None:
                self._hosts[instance_id] = Host(spec, self.site, _write)
                self._begin(instance_id, self._start(instance_id))
            elif host is not None and (spec is None or spec.boot != host.spec.boot):
                self._begin(instance_id, self._stop(instance_id))
            elif host is not None and spec is not None:
                host.update(spec)

    def _begin(self, instance_id: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[instance_id] = asyncio.create_task(self._finish(instance_id, work))

    async def _finish(self, instance_id: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            log.exception("%s: unexpected failure", instance_id)
        del self._tasks[instance_id]
        self._converge()

    async def _start(self, instance_id: str) -> None:
        await self._hosts[instance_id].start()

    async def _stop(self, instance_id: str) -> None:
        await self._hosts[instance_id].stop()
        del self._hosts[instance_id]


def _write(report: HostReport) -> None:
    log.info("%s: %s %s (user data: %s)", report.instance_id, report.state, report.detail, report.user_data)
    # The reader may be gone when a last host is ended after the API.
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(report.to_json()), flush=True)


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    first = json.loads(await reader.readline())
    site = Site(Settings.model_validate(first["settings"]), Path(first["state_dir"]))
    hosts = Hosts(site)
    while line := await reader.readline():
        hosts.want([HostSpec.from_json(document) for document in json.loads(line)])
    await hosts.end()


def main() -> None:
    """Run until standard input ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    asyncssh.set_log_level("ERROR")
    for number in (signal.SIGINT, signal.SIGTERM):
        # The daemon decides, by closing the input. A handler and not SIG_IGN, which every session would inherit.
        signal.signal(number, lambda *_: None)
    asyncio.run(_serve())
