"""Which files the settings name: globs are looked up, on this machine or in S3, and sides are paired."""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trainer.preparing.errors import PreparationError
from trainer.settings.preparation import PreparationSettings, SourceSettings
from trainer.storage.opening import open_storage

WILDCARD = re.compile(r"[*?\[]")
Kind = Literal["lines", "tsv", "parquet"]


@dataclass(frozen=True)
class Text:
    """One text to read: a pair of parallel files, or one table.

    Attributes:
        split: The split that it belongs to.
        kind: What the files are.
        files: The file of the source and that of the target, or the table. Names are paths or s3://bucket/key.
        columns: The columns of a table.
        tag: The mark before every source sentence; "": none.
    """

    split: str
    kind: Kind
    files: tuple[str, ...]
    columns: tuple[str, ...]
    tag: str


def texts_of(settings: PreparationSettings, split: str) -> list[Text]:
    """Returns the texts of a split, in the order of the settings, and within a glob in the order of the names.

    Raises:
        PreparationError: A name or a glob is of no file, or two globs are not of equally many.
        StorageError: A bucket cannot be listed.
    """
    sources: Sequence[SourceSettings] = getattr(settings, split)
    return [text for source in sources for text in _texts(source, split, (settings.source, settings.target))]


def _texts(source: SourceSettings, split: str, languages: tuple[str, str]) -> list[Text]:
    tag = source.tag or ""
    if source.tsv is not None:
        return [Text(split, "tsv", (name,), source.columns or ("1", "2"), tag) for name in named(source.tsv)]
    if source.parquet is not None:
        return [Text(split, "parquet", (name,), source.columns or languages, tag) for name in named(source.parquet)]
    assert source.source is not None and source.target is not None, "the settings are checked"
    sides = named(source.source), named(source.target)
    if len(sides[0]) != len(sides[1]):
        raise PreparationError(
            f"{source.source} names {len(sides[0])} files and {source.target} names {len(sides[1])}: "
            "source and target files must come in pairs"
        )
    return [Text(split, "lines", pair, (), tag) for pair in zip(*sides, strict=True)]


def named(pattern: str) -> list[str]:
    """Returns the files that a name or a glob names, sorted. Raises PreparationError where there is none."""
    found = _in_s3(pattern) if "://" in pattern else _here(pattern)
    if not found:
        raise PreparationError(f"{pattern}: there is no such file")
    return found


def _here(pattern: str) -> list[str]:
    path = str(Path(pattern).expanduser())
    if Path(path).is_file():
        return [path]
    return sorted(name for name in glob.glob(path, recursive=True) if Path(name).is_file())


def _in_s3(pattern: str) -> list[str]:
    bucket, _, key = pattern.removeprefix("s3://").partition("/")
    fixed = WILDCARD.split(key)[0]
    names = open_storage(f"s3://{bucket}").names(fixed)
    is_glob = fixed != key
    return [f"s3://{bucket}/{name}" for name in names if name == key or (is_glob and fnmatch.fnmatchcase(name, key))]
