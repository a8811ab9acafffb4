"""The results of a training in its storage."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from trainer.checkpoint.storage import Storage
from trainer.training.loop import Training

PREFIX = "results/"


def keep_results(training: Training, scores: dict[str, Any]) -> None:
    """Puts model, vocabulary, log and scores into the storage. The scores come last: they mean that all is there."""
    storage, log = training.prepared.storage, training.state.progress.log
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        training.prepared.model.save(directory, {"steps": scores["steps"], "bleu": scores["bleu"]})
        training.prepared.vocabulary.save(directory)
        training.events.write_all(directory, log)
        for path in sorted(directory.iterdir()):
            storage.put(PREFIX + path.name, path.read_bytes())
    storage.put(PREFIX + "train.log", log.text().encode())
    storage.put(PREFIX + "scores.json", (json.dumps(scores, indent=1, ensure_ascii=False) + "\n").encode())


def fetch_results(storage: Storage, directory: Path) -> list[str]:
    """Copies the results into `directory`. Returns the names of the files; none where there are no results."""
    directory.mkdir(parents=True, exist_ok=True)
    fetched = []
    for name in storage.names(PREFIX):
        data = storage.get(name)
        if data is not None:
            fetched.append(name[len(PREFIX) :])
            (directory / fetched[-1]).write_bytes(data)
    return fetched
