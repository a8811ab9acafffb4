"""Speeds that earlier runs have measured: `.centavo/ENV/speeds.json`.

A flavor's speed depends on the model, the batch and the machine image. Together these are a training's
*circumstances*, and speeds are kept by them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from controller.domain import FlavorEstimate
from controller.domain.errors import DiskError
from controller.edges.files import write_whole

SECTIONS = ("model", "vocabulary", "batch")
"""The sections of the training's configuration that say what a step computes."""
MAX_AGE_S = 30 * 86400.0


class SpeedsError(ValueError):
    """A file of speeds can't be read. The message says why."""


@dataclass(frozen=True)
class KnownSpeed:
    """What a run measured of one flavor."""

    circumstances: str
    flavor: str
    tokens_per_s: float
    observations: int
    """How many steps were measured."""
    measured_at: float


def circumstances(training: Any, image_id: str, files: Sequence[bytes] = ()) -> str:
    """Returns a name for the circumstances of a training.

    Args:
        training: Its parsed configuration.
        image_id: The image of its nodes.
        files: The content of further files that its speeds depend on.
    """
    sections = {name: training.get(name) for name in SECTIONS} if isinstance(training, Mapping) else training
    digests = [hashlib.sha256(content).hexdigest() for content in files]
    text = json.dumps([sections, image_id, *digests], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def recall(file: Path, name: str, now: float) -> dict[str, float]:
    """Returns tokens per second by flavor, measured in these circumstances and not longer than `MAX_AGE_S` ago.

    Raises:
        SpeedsError: The file can't be read.
    """
    return {
        speed.flavor: speed.tokens_per_s
        for speed in _read(file)
        if speed.circumstances == name and now - speed.measured_at <= MAX_AGE_S
    }


def keep(file: Path, name: str, estimates: Iterable[FlavorEstimate], measured_at: float) -> None:
    """Adds what was measured, and removes what is too old. A file that can't be read is replaced.

    On a full disk the file stays as it was: a later run measures again.
    """
    measured = {
        (name, e.flavor): KnownSpeed(name, e.flavor, e.tokens_per_s, e.observations, measured_at)
        for e in estimates
        if e.tokens_per_s is not None and e.observations > 0
    }
    if measured:
        with suppress(DiskError):
            _write(file, {**_earlier(file, measured_at), **measured}.values())


def _earlier(file: Path, now: float) -> dict[tuple[str, str], KnownSpeed]:
    try:
        speeds = _read(file)
    except SpeedsError:
        return {}
    return {(s.circumstances, s.flavor): s for s in speeds if now - s.measured_at <= MAX_AGE_S}


def _read(file: Path) -> list[KnownSpeed]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise SpeedsError(f"{file} can't be read: {error}") from error
    try:
        speeds = [KnownSpeed(**entry) for entry in json.loads(text)]
        sound = all(s.tokens_per_s > 0 and s.measured_at > 0 for s in speeds)
    except (ValueError, TypeError) as error:
        raise SpeedsError(f"{file} is torn: {error}") from error
    if not sound:
        raise SpeedsError(f"{file} holds a speed that is none")
    return speeds


def _write(file: Path, speeds: Iterable[KnownSpeed]) -> None:
    write_whole(file, json.dumps([asdict(speed) for speed in speeds], indent=1) + "\n")
