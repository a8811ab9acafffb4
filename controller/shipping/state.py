"""The file that says how far each log was sent, so that a shipper which starts again goes on there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .log import Kept
from .marks import Mark
from .position import Position

VERSION = 1


def read_state(path: Path) -> dict[str, Kept]:
    """Returns what is kept of each log by its name; nothing where there is no file, or none that can be read."""
    try:
        document = json.loads(path.read_bytes())
        if document["version"] != VERSION:
            return {}
        return {str(name): _kept(log) for name, log in document["logs"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_state(path: Path, logs: Mapping[str, Kept]) -> None:
    """Replaces the file as a whole. Raises OSError."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps({"version": VERSION, "logs": {name: asdict(kept) for name, kept in logs.items()}}))
    os.replace(new, path)


def _kept(log: Mapping[str, Any]) -> Kept:
    position = None if log["position"] is None else Position(**log["position"])
    marks = tuple(Mark(int(mark["end"]), float(mark["at"]), str(mark["stream"])) for mark in log["marks"])
    return Kept(position, int(log["sent"]), marks, log["missing"])
