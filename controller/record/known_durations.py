"""How long the parts of moves took in earlier runs: `.centavo/ENV/durations.json`.

They are kept by the circumstances of a training, as speeds are: image, model and environment decide what a new node has
to do before it trains.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from controller.domain.errors import DiskError
from controller.domain.move import Durations, MovePart
from controller.edges.files import write_whole

KEPT = 20
"""So many of the latest durations of each part are kept."""
MAX_AGE_S = 30 * 86400.0


def recall(file: Path, circumstances: str, now: float) -> dict[MovePart, tuple[float, ...]]:
    """Returns the durations that were measured in these circumstances and not longer than `MAX_AGE_S` ago.

    A file that is missing or can't be read tells nothing: the assumptions hold then.
    """
    entry = _read(file).get(circumstances, {})
    try:
        if now - float(entry["at"]) > MAX_AGE_S:
            return {}
        parts = {MovePart(part): tuple(map(float, seconds)) for part, seconds in entry["seconds"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return {part: seconds for part, seconds in parts.items() if seconds and min(seconds) >= 0}


def keep(file: Path, circumstances: str, measured: Durations, now: float) -> None:
    """Adds the durations of a run that ends. On a full disk the file stays as it was."""
    if not any(measured.values()):
        return
    earlier, entries = recall(file, circumstances, now), _read(file)
    seconds = {part.value: [*earlier.get(part, ()), *measured.get(part, ())][-KEPT:] for part in MovePart}
    with suppress(DiskError):
        write_whole(file, json.dumps({**entries, circumstances: {"at": now, "seconds": seconds}}, indent=1) + "\n")


def _read(file: Path) -> Mapping[str, Any]:
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}
