"""What training.yml says of the corpus, and the files of one that a person brings (`corpus.kind: files`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.config.environment import Environment
from controller.config.load import read_yaml
from controller.domain.errors import ConfigError
from controller.supply.ports import StorePort
from controller.supply.provided import CorpusFile, Stored

SPLITS = ("train", "validation", "test")
NAME_DIGITS = 12
CHUNK = 1 << 20


def corpus_of_kind(kind: str, config: Path) -> Mapping[str, Any] | None:
    """Returns what a training.yml says of its corpus; None where the corpus is of another kind. Raises ConfigError."""
    document = read_yaml(config)
    corpus = document.get("corpus") if isinstance(document, Mapping) else None
    return corpus if isinstance(corpus, Mapping) and corpus.get("kind") == kind else None


def corpus_paths(environment: Environment, config: Path) -> dict[str, tuple[Path, ...]]:
    """Returns by split the files on this machine that a training.yml names; none where the corpus is of another kind.

    Raises:
        ConfigError: A file is missing or can't be read.
    """
    corpus = corpus_of_kind("files", config)
    if corpus is None:
        return {}
    return {split: _paths(environment, config, split, corpus.get(split)) for split in SPLITS}


def _paths(environment: Environment, config: Path, split: str, named: Any) -> tuple[Path, ...]:
    if not isinstance(named, list) or len(named) != 2 or not all(isinstance(name, str) for name in named):
        raise ConfigError(
            f"{config}: corpus.{split} must name two files, the source and the target, and is {named!r}.",
            "Write `SPLIT: [source file, target file]`.",
        )
    paths = tuple(environment.path(Path(name)) for name in named)
    for path in paths:
        _check(path, f"{config}: corpus.{split} names {path}")
    return paths


def _check(path: Path, named: str) -> None:
    try:
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        raise ConfigError(
            f"{named}, which can't be read: {error.strerror}.",
            "Name a file of this machine, absolute or relative to the root of the repository. Centavo copies it to "
            "the nodes.",
        ) from error
    if is_empty:
        raise ConfigError(f"{named}, which is empty.", "Name a file that has a sentence on each line.")


def provide_corpus(
    paths: Mapping[str, tuple[Path, ...]], store: StorePort, bucket: str
) -> dict[str, tuple[CorpusFile, ...]]:
    """Uploads the files that the bucket lacks. Raises AwsError or ConfigError."""
    return {split: tuple(_provide(path, store, bucket) for path in files) for split, files in paths.items()}


def _provide(path: Path, store: StorePort, bucket: str) -> CorpusFile:
    try:
        sha256, size = _sha256(path), path.stat().st_size
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}.", "Make it readable.") from error
    key = f"corpus/{sha256}"
    if not store.has(bucket, key):
        store.upload(bucket, key, path)
    return CorpusFile(f"{sha256[:NAME_DIGITS]}-{path.name}", Stored(key, sha256, size))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
