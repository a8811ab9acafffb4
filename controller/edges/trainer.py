"""The training program's own commands, run as a process on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from controller.domain.memory import MemoryNeed
from controller.domain.text import one_line
from controller.edges.limited import run_within

MEMORY_LIMIT_S = 120.0
MOST_SAID = 300
MOST_BYTES = 2**53 - 1


def estimated_need(config: Path, tell: Callable[[str], None]) -> MemoryNeed | None:
    """Returns the memory that the trainer expects a worker to need; None where it can't say, which people are told.

    Args:
        config: The settings of the training.
        tell: Tells people something.
    """
    try:
        done = run_within(MEMORY_LIMIT_S, [sys.executable, "-m", "trainer", "memory", "--config", str(config)])
        said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        needed = json.loads(done.stdout)["needed_bytes"] if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        needed, said = None, f"{type(error).__name__}: {error}"
    if isinstance(needed, int) and 0 < needed <= MOST_BYTES:
        return MemoryNeed(needed, is_measured=False)
    tell(f"the memory of the nodes is not checked before they are bought: {one_line(said, MOST_SAID)}")
    return None
