"""The results of a training in its storage."""

from __future__ import annotations

import json
import logging
import math
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from trainer.data.vocabulary import Vocabulary
from trainer.files.atomic import write_atomically
from trainer.record.model_card import FILE_NAME, model_card
from trainer.settings.training import Settings
from trainer.storage.storage import RESULTS, Storage, StorageError
from trainer.training.digest import SETTINGS_OF_A_NODE
from trainer.training.loop import Training
from trainer.training.prepare import Prepared

log = logging.getLogger(__name__)

SETTINGS_FILE = "training.yml"
NAMES = re.compile(
    r"model\.params|model\.json|model-card\.md|vocabulary(?:\.source|\.target)?|training\.yml|train\.log|scores\.json|events[A-Za-z0-9._-]{0,200}"
)
"""The files that are results. Any worker can write any name into the storage: no other name is fetched from it."""
MOST_FILES = 100
LARGEST_FILE_BYTES = 16 << 30
KEEP_PATIENCE_S = 480.0
"""How long a storage that does not answer is tried again at the end, for one file. The other ranks wait meanwhile."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0


def keep_results(training: Training, scores: dict[str, Any]) -> None:
    """Puts model, vocabulary, settings, card, log and scores into the storage.

    The scores come last: they mean that all is there.

    Raises:
        StorageError: The storage has not taken a file for `KEEP_PATIENCE_S`.
    """
    storage, lines = training.prepared.storage, training.state.progress.log
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        made_with = {"vocabulary_sha256": training.prepared.vocabulary.digest}
        training.prepared.model.save(directory, {"steps": scores["steps"], "bleu": scores["bleu"], **made_with})
        _save_vocabulary(training.prepared.vocabulary, directory)
        training.events.write_all(directory, lines)
        for path in sorted(directory.iterdir()):
            _put(storage, path.name, path.read_bytes())
    _put(storage, SETTINGS_FILE, settings_text(training.prepared.settings).encode())
    _put(storage, FILE_NAME, _card(training.prepared, scores).encode())
    _put(storage, "train.log", lines.text().encode())
    _put(storage, "scores.json", (json.dumps(scores, indent=1, ensure_ascii=False) + "\n").encode())


def settings_text(settings: Settings) -> str:
    """Returns the settings as a training.yml with every key, except for those of one node."""
    content = settings.model_dump(mode="json", exclude=SETTINGS_OF_A_NODE)
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _save_vocabulary(vocabulary: Vocabulary, directory: Path) -> None:
    """Writes the file `vocabulary`. Where it holds two, other programs find them beside it."""
    vocabulary.save(directory)
    if vocabulary.separate_sizes is not None:
        for side, model in zip(("source", "target"), vocabulary.models, strict=True):
            (directory / f"vocabulary.{side}").write_bytes(model)


def _card(prepared: Prepared, scores: dict[str, Any]) -> str:
    parameters = sum(math.prod(parameter.shape) for parameter in prepared.parameters.values())
    return model_card(prepared.settings, prepared.manifest, parameters, scores)


def _put(storage: Storage, name: str, data: bytes) -> None:
    """Stores a result. A storage that does not answer is tried again, with longer and longer pauses."""
    deadline, pause_s = time.monotonic() + KEEP_PATIENCE_S, FIRST_PAUSE_S
    while True:
        try:
            storage.put(RESULTS + name, data)
            return
        except StorageError as error:
            if time.monotonic() + pause_s > deadline:
                raise
            log.warning("%s; trying again in %.0f s", error, pause_s)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def fetch_results(storage: Storage, directory: Path) -> list[str]:
    """Copies the results into `directory`. Returns the names of the files; none where there are no results.

    Names that are no result's are passed over: one such as `results/../../.ssh/authorized_keys` would be written
    outside of `directory`, and `results/done.json` in place of the launcher's own file.

    Raises:
        StorageError: The storage does not answer, or a result is larger than `LARGEST_FILE_BYTES`.
        OSError: A file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    fetched: list[str] = []
    for key in storage.names(RESULTS):
        name = key.removeprefix(RESULTS)
        if NAMES.fullmatch(name) is None or len(fetched) == MOST_FILES:
            log.error("%s/%s is no result of a training: it is not fetched", storage.location, ascii(key))
            continue
        data = storage.get(key, LARGEST_FILE_BYTES)
        if data is not None:
            write_atomically(directory / name, data, readable_by_all=True)
            fetched.append(name)
    return fetched
