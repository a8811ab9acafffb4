"""The digest that all ranks of one training have in common."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import astuple
from pathlib import Path

import trainer
from trainer.checkpoint.origin import Origin
from trainer.settings.training import Settings

SETTINGS_OF_A_NODE = {"cache", "facts", "tensorboard"}
"""The settings that may differ from node to node."""


def training_digest(settings: Settings, origin: Origin) -> str:
    """Returns the digest of the settings, the text, the vocabulary and the trainer's own sources.

    Ranks that differed in one of these would train on wrong numbers without anybody noticing.
    """
    common = settings.model_dump(exclude=SETTINGS_OF_A_NODE)
    parts = [json.dumps(common, sort_keys=True), *astuple(origin), _digest_of_sources()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@functools.cache
def _digest_of_sources() -> str:
    """Returns the digest of all sources of the package `trainer`, in Python and C++."""
    digest = hashlib.sha256()
    root = Path(trainer.__file__).parent
    for path in sorted(path for path in root.rglob("*") if path.is_file() and path.suffix in (".py", ".h", ".cc")):
        digest.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return digest.hexdigest()
