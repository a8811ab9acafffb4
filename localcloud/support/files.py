"""Writing files that another process may read at any moment."""

from __future__ import annotations

from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replaces the contents of a file, so that a reader finds either the old text or the new one, never a part."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    temporary.replace(path)
