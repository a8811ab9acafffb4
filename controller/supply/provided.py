"""What the nodes of a run were supplied with, as the run keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from controller.edges.files import write_whole

FILE = "supplies.json"


@dataclass(frozen=True)
class Stored:
    """A file in the bucket, with its size in bytes."""

    key: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Wheelhouse:
    """A wheelhouse in the bucket. `made_for` says for which nodes: digest, python, machine and glibc."""

    made_for: Mapping[str, str]
    archive: Stored


@dataclass(frozen=True)
class CorpusFile:
    """A file of the corpus: its name on the nodes, and where the bucket has it."""

    name: str
    stored: Stored


@dataclass(frozen=True)
class Provided:
    """What the nodes of a run were supplied with.

    Attributes:
        bucket: The bucket that has it all.
        wheelhouse: Their packages; None where the nodes have everything already.
        corpus: By split (`train`, `validation`, `test`) the source file and the target file; empty where the trainer
            makes the corpus or downloads it.
        prepared: Where the bucket has the copy of a prepared corpus; None where the nodes reach the corpus without.
    """

    bucket: str
    wheelhouse: Wheelhouse | None = None
    corpus: Mapping[str, tuple[CorpusFile, ...]] = field(default_factory=dict)
    prepared: str | None = None


def keep(provided: Provided, directory: Path) -> None:
    """Keeps in a run's folder what its nodes were supplied with. Raises DiskError."""
    write_whole(directory / FILE, json.dumps(asdict(provided), indent=1) + "\n")


def kept(directory: Path) -> Provided | None:
    """Returns what a run's nodes were supplied with; None before that."""
    try:
        document = json.loads((directory / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    wheelhouse, corpus = document["wheelhouse"], document["corpus"]
    return Provided(
        document["bucket"],
        None if wheelhouse is None else Wheelhouse(wheelhouse["made_for"], Stored(**wheelhouse["archive"])),
        {
            split: tuple(CorpusFile(file["name"], Stored(**file["stored"])) for file in files)
            for split, files in corpus.items()
        },
        document.get("prepared"),
    )
