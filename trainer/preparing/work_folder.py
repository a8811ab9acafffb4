"""The unfinished work of a preparation: what is there already is not done again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from trainer.data.prepared.manifest import FORMAT
from trainer.files.lock import only_one
from trainer.preparing.sources.chunks import CHUNK_LINES
from trainer.preparing.sources.listing import Text
from trainer.preparing.sources.opening import size_and_version
from trainer.settings.preparation import PreparationSettings

NOT_SHAPING = {"output", "work"}
"""The settings that do not change what is prepared."""


@dataclass(frozen=True)
class WorkFolder:
    """A folder for one preparation: for these settings, and these files as they are now."""

    path: Path

    def cleaned(self, number: int) -> Path:
        """Returns the file of a cleaned chunk."""
        return self.path / "cleaned" / f"{number:06d}"

    def encoded(self, number: int) -> Path:
        """Returns the file of an encoded chunk."""
        return self.path / "encoded" / f"{number:06d}"

    def shard(self, place: int) -> Path:
        """Returns the file for what the manifest says about a shard."""
        return self.path / "shards" / f"{place:06d}.json"

    @property
    def vocabulary(self) -> Path:
        """The file of the vocabulary."""
        return self.path / "vocabulary"


@contextmanager
def work_folder(settings: PreparationSettings, texts: Sequence[Text]) -> Iterator[WorkFolder]:
    """Gives the folder of a preparation. It is removed when the preparation is done.

    Of the processes of this machine that prepare to the same output, one goes on and the others wait.
    """
    digest = hashlib.sha256(f"{FORMAT} {CHUNK_LINES} {sentencepiece.__version__} {settings.output}\n".encode())
    digest.update(json.dumps(settings.model_dump(exclude=NOT_SHAPING), sort_keys=True).encode())
    for text in texts:
        for name in text.files:
            digest.update(f"\n{name} {size_and_version(name)}".encode())
    folder = Path(settings.work).expanduser() / digest.hexdigest()[:24]
    with only_one(folder.with_name(f"{_digest_of(settings.output)}.lock")):
        folder.mkdir(exist_ok=True)
        yield WorkFolder(folder)
        shutil.rmtree(folder)


def _digest_of(output: str) -> str:
    """Returns the same digits for all ways to write an output."""
    named = output.rstrip("/") if "://" in output else str(Path(output).expanduser().resolve())
    return hashlib.sha256(named.encode()).hexdigest()[:24]
