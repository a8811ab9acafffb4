"""Finding and ending processes by a marker in their environment, however often they forked or detached."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

INSTANCE_MARKER = "CENTAVO_LOCALCLOUD_INSTANCE"
"""The environment variable that holds the instance's id in every process of a host."""

STATE_MARKER = "CENTAVO_LOCALCLOUD_STATE"
"""The environment variable that holds the state directory in every process of every host."""


MOST_ROUNDS = 20  # on a machine on which processes start all the time, a search has to end too


class _Stat(NamedTuple):
    parent: int
    started: int  # clock ticks since the machine's boot


def start_time(pid: int) -> int | None:
    """Returns when a process started, in clock ticks since the machine's boot; None if it does not live.

    Process ids are used again. A process id and a start time together name one process.
    """
    stat = _stat_if_alive(pid)
    return stat.started if stat else None


def marked(name: str, value: str) -> set[int]:
    """Returns the ids of the living processes that were started with `name=value`, and of their descendants.

    The environment of a process stays what it was at its `exec`. So a daemon that left its session is found. A child
    that was started with an empty environment is found through its parent.
    """
    needle = _needle(name, value)
    children: dict[int, list[int]] = {}
    found: list[int] = []
    for pid in _also_those_that_start_meanwhile():
        stat = _stat_if_alive(pid)
        if stat is None:
            continue
        children.setdefault(stat.parent, []).append(pid)
        if pid != os.getpid() and needle in _environment(pid):
            found.append(pid)
    return _with_descendants(found, children)


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Sends a signal to processes. Those that have ended meanwhile are skipped."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def end_marked(name: str, value: str, grace_s: float = 0.0, limit_s: float = 10.0) -> bool:
    """Ends all processes that carry a marker, and blocks for at most `grace_s + limit_s`.

    The scan repeats until it finds no process. So a process that keeps forking does not escape.

    Args:
        name: the environment variable.
        value: its value.
        grace_s: seconds from SIGTERM to SIGKILL; with 0 there is no SIGTERM.
        limit_s: seconds after which ending is given up.

    Returns:
        Whether no such process is left.
    """
    if grace_s > 0:
        send(marked(name, value), signal.SIGTERM)
        grace_ends = time.monotonic() + grace_s
        while time.monotonic() < grace_ends and marked(name, value):
            time.sleep(0.02)
    limit = time.monotonic() + limit_s
    while time.monotonic() < limit:
        pids = marked(name, value)
        if not pids:
            return True
        send(pids, signal.SIGKILL)
        _kill_newest_first(_needle(name, value))
    return not marked(name, value)


def _needle(name: str, value: str) -> bytes:
    return f"{name}={value}".encode()


def _kill_newest_first(needle: bytes) -> None:
    """Kills each process that carries a marker at the moment when it is found.

    A process that keeps forking is gone when a search of all processes has ended, and its child lives. This search
    begins with the youngest processes, and so it meets that child.
    """
    for pid in sorted(_process_ids(), reverse=True):
        if needle in _environment(pid) and pid != os.getpid():
            send([pid], signal.SIGKILL)


def _also_those_that_start_meanwhile() -> Iterator[int]:
    """Returns the ids of all processes, with those of children that are born while the caller looks at their parents.

    Otherwise a process that forks and ends before the caller comes to it would hide its child.
    """
    seen: set[int] = set()
    for _ in range(MOST_ROUNDS):
        new = set(_process_ids()) - seen
        if not new:
            return
        yield from sorted(new)
        seen |= new


def _process_ids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _stat_if_alive(pid: int) -> _Stat | None:
    try:
        # The second field is the command's name in parentheses, which may hold spaces.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else _Stat(parent=int(fields[1]), started=int(fields[19]))


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _with_descendants(roots: list[int], children: dict[int, list[int]]) -> set[int]:
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in seen:
            seen.add(pid)
            waiting.extend(children.get(pid, ()))
    return seen
