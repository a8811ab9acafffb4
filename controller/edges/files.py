"""Files that are read while they are written."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes beside the file and renames, so that a reader sees the old content or the new, never a part."""
    part = path.with_name(f"{path.name}.new")
    part.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(part, path)
