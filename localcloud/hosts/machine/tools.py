"""Running the programs that make machines, such as `ip` and `mount`."""

from __future__ import annotations

import subprocess

LIMIT_S = 120.0


class MachineError(RuntimeError):
    """A machine, or what machines share, cannot be made. The message says what failed, and what to do."""


def run(*words: str, text: str | None = None, limit_s: float = LIMIT_S) -> str:
    """Runs a program, and returns what it printed.

    Args:
        words: the program and its arguments.
        text: what it reads from standard input.
        limit_s: seconds after which it is killed.

    Raises:
        MachineError: it failed, took too long, or is not installed.
    """
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=limit_s, check=False)
    except FileNotFoundError:
        raise MachineError(f"the program {words[0]} was not found; install it") from None
    except subprocess.TimeoutExpired:
        raise MachineError(f"`{' '.join(words)}` did not end within {limit_s:.0f} s") from None
    if done.returncode:
        said = done.stderr.strip() or f"it ended with status {done.returncode}"
        raise MachineError(f"`{' '.join(words)}` failed: {said}")
    return done.stdout


def succeeds(*words: str) -> bool:
    """Returns whether a program ends with status 0."""
    try:
        run(*words)
    except MachineError:
        return False
    return True
