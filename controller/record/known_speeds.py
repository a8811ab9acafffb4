"""Speeds that earlier runs have measured: `.centavo/ENV/speeds.json`.

A flavor's speed depends on the model, the batch and the machine image. Together these are a training's
*circumstances*, and speeds are kept by them.

What was measured counts by its age and its likeness. Another model or batch computes something else, so that its speeds
do not count at all. A new image brings other kernels and libraries, and so does time: each makes a speed less certain.
Speeds x of several circumstances, with the variances v of their logarithms, are combined by their precision (Gelman et
al., "Bayesian Data Analysis", 3rd edition, section 2.5):

    ln speed = sum(ln x / v) / sum(1 / v),    variance = 1 / sum(1 / v)
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

from controller.domain import EarlierSpeed, FlavorEstimate
from controller.domain.errors import DiskError
from controller.edges.files import write_whole

SECTIONS = ("model", "vocabulary", "batch")
"""The sections of the training's configuration that say what a step computes."""
MAX_AGE_S = 30 * 86400.0
RUN_LOG_SD = 0.10
"""How far the logarithm of a flavor's speed differs from run to run in the same circumstances."""
AGE_LOG_SD = 0.10
"""How much further it differs after `MAX_AGE_S`, as a random walk that grows with the root of the age."""
IMAGE_LOG_SD = 0.15
"""How much further it differs on another image."""


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
    """Returns a name for the circumstances of a training: what it computes, a hyphen, and the image.

    Args:
        training: Its parsed configuration.
        image_id: The image of its nodes.
        files: The content of further files that its speeds depend on.
    """
    sections = {name: training.get(name) for name in SECTIONS} if isinstance(training, Mapping) else training
    digests = [hashlib.sha256(content).hexdigest() for content in files]
    computed = json.dumps([sections, *digests], sort_keys=True, default=str)
    return "-".join(hashlib.sha256(text.encode()).hexdigest()[:16] for text in (computed, image_id))


def recall(file: Path, name: str, now: float) -> dict[str, EarlierSpeed]:
    """Returns by flavor the speed of the same computation, measured not longer than `MAX_AGE_S` ago on any image.

    Raises:
        SpeedsError: The file can't be read.
    """
    logs: dict[str, list[NormalDist]] = {}
    for speed in _read(file):
        age_s = max(0.0, now - speed.measured_at)
        if age_s <= MAX_AGE_S and speed.circumstances.partition("-")[0] == name.partition("-")[0]:
            other_image = IMAGE_LOG_SD * (speed.circumstances != name)
            deviation = math.hypot(RUN_LOG_SD, AGE_LOG_SD * math.sqrt(age_s / MAX_AGE_S), other_image)
            logs.setdefault(speed.flavor, []).append(NormalDist(math.log(speed.tokens_per_s), deviation))
    return {flavor: _combined(each) for flavor, each in logs.items()}


def _combined(logs: Sequence[NormalDist]) -> EarlierSpeed:
    """Returns the speed of which several circumstances tell the logarithm."""
    precision = sum(1 / log.variance for log in logs)
    return EarlierSpeed(math.exp(sum(log.mean / log.variance for log in logs) / precision), precision**-0.5)


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
