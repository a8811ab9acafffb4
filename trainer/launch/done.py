"""done.json: how a training ended. `done.schema.json` describes it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from trainer.files.atomic import write_atomically

FILE_NAME = "done.json"
LONGEST_REASON = 4000


@dataclass(frozen=True)
class End:
    """How a training, or an attempt at it, ended.

    `status` is "lost" where a new attempt, from the last checkpoint, may succeed.
    """

    status: Literal["finished", "failed", "stopped", "lost"]
    reason: str | None = None


def write_end(directory: Path, end: End) -> None:
    """Writes done.json into `directory`."""
    reason = None if end.reason is None else end.reason[:LONGEST_REASON]
    text = json.dumps(asdict(End(end.status, reason))) + "\n"
    write_atomically(directory / FILE_NAME, text, readable_by_all=True)
