"""How often earlier runs have lost nodes to the spot market: `.centavo/ENV/losses.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from controller.domain.errors import DiskError
from controller.domain.observed.spot import Exposure
from controller.edges.files import write_whole

MOST_NODE_HOURS = 2000.0
"""Of a flavor that ran for longer, older hours count less and less: markets change."""


class LossesError(ValueError):
    """A file of losses can't be read. The message says why."""


def recall(file: Path) -> dict[str, Exposure]:
    """Returns by flavor what earlier runs have lost. Raises LossesError."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise LossesError(f"{file} can't be read: {error}") from error
    try:
        losses = {str(flavor): Exposure(**raw) for flavor, raw in json.loads(text).items()}
        is_sound = all(_is_sound(exposure) for exposure in losses.values())
    except (ValueError, TypeError, AttributeError) as error:
        raise LossesError(f"{file} is torn: {error}") from error
    if not is_sound:
        raise LossesError(f"{file} holds losses that are none")
    return losses


def keep(file: Path, losses: Mapping[str, Exposure]) -> None:
    """Keeps what this run and earlier ones have lost. On a full disk the file stays as it was."""
    if losses:
        with suppress(DiskError):
            kept = {flavor: asdict(_recent(exposure)) for flavor, exposure in sorted(losses.items())}
            write_whole(file, json.dumps(kept, indent=1) + "\n")


def _recent(exposure: Exposure) -> Exposure:
    share = min(1.0, MOST_NODE_HOURS / exposure.node_hours) if exposure.node_hours else 1.0
    return Exposure(round(exposure.lost * share), exposure.node_hours * share)


def _is_sound(exposure: Exposure) -> bool:
    numbers = (exposure.lost, exposure.node_hours)
    are_numbers = all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers)
    return are_numbers and exposure.lost >= 0 and exposure.node_hours >= 0 and math.isfinite(exposure.node_hours)
