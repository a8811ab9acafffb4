"""Where a checkpoint comes from: it continues only a training with the same numbers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from trainer.model.transformer import FORMAT
from trainer.settings.training import Settings

SHAPING = {"seed", "corpus", "vocabulary", "model", "batch"}
"""The settings that shape the model, or the order in which samples are seen."""

ADDED_TO_MODEL: dict[str, Any] = {"decoder_layers": None, "norm": "post", "r_drop": 0.0}
"""Settings of the model that an older Centavo did not have, with what it did: its checkpoints are still continued."""


@dataclass(frozen=True)
class Origin:
    """Digests of the settings that shape a training's numbers, of its vocabulary and of its corpus."""

    fingerprint: str
    vocabulary: str
    corpus: str


def fingerprint(settings: Settings) -> str:
    """Returns the digest of what has to be equal for a checkpoint to be continued.

    These are the model with its format, and what decides which samples have been seen. The optimizer's settings may
    change on the way: a training whose loss became NaN is continued with a lower learning rate.
    """
    shaping = settings.model_dump(include=SHAPING)
    for not_shaping in ("prefetch", "prefetch_threads"):
        shaping["batch"].pop(not_shaping)
    if settings.corpus.is_prepared:
        shaping["corpus"] = None  # its digest tells it, wherever it lies
    for told_by_digest in ("taken", "separate"):
        shaping["vocabulary"].pop(told_by_digest)
    for key, before in ADDED_TO_MODEL.items():
        if shaping["model"][key] == before:
            del shaping["model"][key]
    shaping["model"]["format"] = FORMAT
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
