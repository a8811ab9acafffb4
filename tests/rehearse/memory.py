"""How much memory the head's controller takes, with all that it starts, as this machine sees it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ON_THE_HEAD = b"CENTAVO_PLACE=head"
"""The variable that the head's controller and all of its children have, and no other process."""
EVERY_S = 1.0
MIB = 1 << 20


@dataclass
class Memory:
    """The most memory at one look, in bytes: in all, and of each program then. Shared pages are shared out (PSS)."""

    most: int = 0
    programs: dict[str, int] = field(default_factory=dict)

    def take(self, found: dict[str, int]) -> None:
        """Takes up one look."""
        if sum(found.values()) > self.most:
            self.most, self.programs = sum(found.values()), found

    def __str__(self) -> str:
        each = ", ".join(f"{name} {size // MIB}" for name, size in sorted(self.programs.items()))
        return f"{self.most // MIB} MiB at most ({each})"


@contextmanager
def watched(memory: Memory) -> Iterator[None]:
    """Looks every second while inside."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(EVERY_S):
            memory.take(of_the_head())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def of_the_head() -> dict[str, int]:
    """Returns the memory of the head's controller and its children by program, in bytes."""
    found: dict[str, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if ON_THE_HEAD in (process / "environ").read_bytes():
                name = (process / "comm").read_text().strip()
                found[name] = found.get(name, 0) + _pss(process)
    return found


def _pss(process: Path) -> int:
    """Returns the proportional set size of a process (proc(5), smaps_rollup)."""
    for line in (process / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
