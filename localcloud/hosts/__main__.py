"""The hosts' process: `python -m localcloud.hosts`, which the daemon starts.

The process ends every host and itself when its standard input ends. So hosts do not outlive the daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys

import asyncssh

from localcloud.hosts.host import HostKind
from localcloud.hosts.kinds import kind_named
from localcloud.hosts.supervisor import Supervisor
from localcloud.link.messages import CONFIGURATION, OPEN, REPORT, WANTED
from localcloud.link.report import HostReport
from localcloud.support.logs import configure_logging

LINE_LIMIT_BYTES = 64 * 1024 * 1024

log = logging.getLogger("localcloud.hosts")


def main() -> None:
    """Runs hosts until standard input ends."""
    configure_logging()
    asyncssh.set_log_level("ERROR")
    for number in (signal.SIGINT, signal.SIGTERM):
        # Only the daemon ends this process, by closing its input. A handler that does nothing, and not `SIG_IGN`,
        # because every session would inherit `SIG_IGN`.
        signal.signal(number, lambda *_: None)
    asyncio.run(_serve())


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    configuration = CONFIGURATION.from_line(await reader.readline())
    kind = kind_named(configuration.settings.hosts)(configuration, _report)
    supervisor = Supervisor(kind.make)
    try:
        await _open(kind)
        while line := await reader.readline():
            wanted = WANTED.from_line(line)
            kind.follow(wanted)
            supervisor.want(wanted.hosts)
    finally:
        await supervisor.end()
        await kind.close()


async def _open(kind: HostKind) -> None:
    try:
        await kind.open()
    except RuntimeError as error:
        log.error("the hosts cannot start: %s", error)
        sys.exit(1)
    _say(OPEN)


def _report(report: HostReport) -> None:
    log.info("%s: %s %s (user data: %s)", report.instance_id, report.state.value, report.detail, report.user_data)
    _say(REPORT.to_line(report))


def _say(line: str) -> None:
    # The daemon may have ended before the last hosts do. Nobody reads the line then.
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
