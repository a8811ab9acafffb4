"""What the stub reads and writes: its settings, its log, and files that are replaced as a whole."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml


def read_settings(path: Path) -> dict[str, Any]:
    """Returns the settings of training.yml."""
    return dict(yaml.safe_load(path.read_text()))


def note(settings: dict[str, Any], event: str, **details: Any) -> None:
    """Adds a line to the log that all programs of the stub share. One write is one line.

    While the host's disk is full, lines are lost: a training goes on without its log.
    """
    line = json.dumps({"at": time.time(), "event": event, **details}) + "\n"
    with suppress(OSError):
        descriptor = os.open(settings["stub"]["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def replace(path: Path, content: str) -> None:
    """Writes a file by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(content)
    os.replace(part, path)


def timestamp() -> str:
    """Returns the time in UTC, as facts have it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
