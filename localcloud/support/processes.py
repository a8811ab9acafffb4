"""Finding and ending every process of a host by the marker in its environment, whatever it forked or detached from."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

INSTANCE_MARKER = "CENTAVO_LOCALCLOUD_INSTANCE"
STATE_MARKER = "CENTAVO_LOCALCLOUD_STATE"


def marked(name: str, value: str) -> set[int]:
    """The ids of the living processes that were started with `name=value`, and of their descendants.

    A process's environment is read as it was at its exec, so a daemon that forked away from its session is found too,
    and a child that was given a clean environment is found through its parent.
    """
    needle = f"{name}={value}".encode()
    children: dict[int, list[int]] = {}
    found: list[int] = []
    for pid in _process_ids():
        parent = _parent_if_alive(pid)
        if parent is None:
            continue
        children.setdefault(parent, []).append(pid)
        if pid != os.getpid() and needle in _environment(pid):
            found.append(pid)
    return _with_descendants(found, children)


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal processes; those that have ended meanwhile are passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def end_marked(name: str, value: str, grace_s: float = 0.0, limit_s: float = 10.0) -> bool:
    """End all processes that bear a marker: SIGTERM, SIGKILL after `grace_s`. Returns whether none is left.

    Blocks for at most `grace_s + limit_s`. Repeats until a scan finds nobody, so that forking does not outrun it.
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
        time.sleep(0.01)
    return not marked(name, value)


def _process_ids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _parent_if_alive(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[1])


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
