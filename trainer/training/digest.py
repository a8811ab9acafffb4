"""What all ranks of a training must have alike: where they differed, they would train on wrong numbers in silence."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import trainer
from trainer.checkpoint.checkpoints import Origin
from trainer.settings.settings import Settings

NODES_OWN = ("cache", "facts", "tensorboard")
"""The settings that are each node's own affair."""
STRANGER = (
    "its training.yml, corpus or version of Centavo differs from that of the other nodes; every rank works out for "
    "itself which sentences are its own, and so all need the same: prepare this node again, or start the training anew"
)


def identity(settings: Settings, origin: Origin) -> str:
    """The digest that every rank of one training has: settings, text, vocabulary and the trainer's own sources."""
    common = {name: value for name, value in asdict(settings).items() if name not in NODES_OWN}
    known = [json.dumps(common, sort_keys=True), *asdict(origin).values(), _sources()]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()


@functools.cache
def _sources() -> str:
    digest = hashlib.sha256()
    root = Path(trainer.__file__).parent
    for path in sorted(path for path in root.rglob("*") if path.is_file() and path.suffix in (".py", ".h", ".cc")):
        digest.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return digest.hexdigest()
