"""Writing files that another process may read at any moment."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str, mode: int = 0o666) -> None:
    """Replaces the contents of a file, so that a reader finds either the old text or the new one, never a part.

    Args:
        path: the file.
        text: its new contents.
        mode: who may use the file, before the umask takes its part away. No other process can open it sooner.
    """
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
    temporary.replace(path)
