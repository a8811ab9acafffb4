"""A prepared corpus on this machine (`corpus.kind: prepared` in training.yml), and its copy in the bucket."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.config.environment import Environment
from controller.domain.errors import ConfigError, SupplyError
from controller.supply.corpus import corpus_of_kind
from controller.supply.ports import StorePort

MANIFEST = "manifest.json"
PREFIX = "corpus/prepared"
MIB = 1 << 20


@dataclass(frozen=True)
class PreparedFolder:
    """A whole prepared corpus.

    Attributes:
        folder: Where it lies.
        sha256: The SHA-256 of its manifest, in hex. The manifest has those of all other files.
        sizes: By name below the folder each file that the manifest names, with its size in bytes.
        digests: By the same names the SHA-256 of their content, in hex.
    """

    folder: Path
    sha256: str
    sizes: Mapping[str, int]
    digests: Mapping[str, str]


def prepared_folder(environment: Environment, config: Path) -> PreparedFolder | None:
    """Returns the prepared corpus on this machine that a training.yml names; None where it names none.

    Raises:
        ConfigError: It is not whole, or can't be read.
    """
    directory = (corpus_of_kind("prepared", config) or {}).get("directory")
    if not isinstance(directory, str) or "://" in directory:
        return None
    folder = environment.path(Path(directory))
    return _whole(folder, f"{config}: corpus.directory names {folder}")


def provide_prepared(prepared: PreparedFolder, store: StorePort, bucket: str, tell: Callable[[str], None]) -> str:
    """Uploads what the bucket lacks of it, the manifest last.

    Returns:
        The location of the copy.

    Raises:
        AwsError: The bucket does not take it.
        SupplyError: A file is damaged. In the bucket it would stay, even when the corpus is prepared anew.
    """
    prefix = f"{PREFIX}/{prepared.sha256}"
    lacking = [name for name in sorted(prepared.sizes) if not store.has(bucket, f"{prefix}/{name}")]
    if lacking:
        size = sum(prepared.sizes[name] for name in lacking)
        tell(f"copying the prepared corpus to the bucket: {len(lacking)} files, {size / MIB:,.0f} MiB")
    for name in lacking:
        _check_content(prepared, name)
        store.upload(bucket, f"{prefix}/{name}", prepared.folder / name)
    if not store.has(bucket, f"{prefix}/{MANIFEST}"):
        store.upload(bucket, f"{prefix}/{MANIFEST}", prepared.folder / MANIFEST)
    return f"s3://{bucket}/{prefix}"


def _whole(folder: Path, named: str) -> PreparedFolder:
    again = "Let `python -m trainer prepare` come to its end, or name a folder that it has written."
    try:
        content = (folder / MANIFEST).read_bytes()
        entries = list(_entries(json.loads(content)))
        sizes = {entry["name"]: int(entry["bytes"]) for entry in entries}
        digests = {entry["name"]: str(entry["sha256"]) for entry in entries}
        wrong = [name for name, size in sizes.items() if not _has_size(folder / name, size)]
    except OSError as error:
        raise ConfigError(f"{named}, where {MANIFEST} can't be read: {error.strerror}.", again) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{named}, where {MANIFEST} is not the manifest of a prepared corpus.", again) from error
    if wrong:
        raise ConfigError(f"{named}, where {wrong[0]} is missing or of another size than {MANIFEST} says.", again)
    return PreparedFolder(folder, hashlib.sha256(content).hexdigest(), sizes, digests)


def _check_content(prepared: PreparedFolder, name: str) -> None:
    digest = hashlib.sha256()
    with (prepared.folder / name).open("rb") as file:
        while block := file.read(MIB):
            digest.update(block)
    if digest.hexdigest() != prepared.digests[name]:
        raise SupplyError(
            f"{prepared.folder / name} has another SHA-256 than {MANIFEST} says: it is damaged.",
            "Copy the corpus again, or remove it and prepare it again.",
        )


def _entries(manifest: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the files that a manifest names, as `trainer/data/prepared/manifest.schema.json` has them."""
    yield manifest["vocabulary"]["file"]
    for shards in manifest["splits"].values():
        for shard in shards:
            yield from (shard["ids"], shard["text"])


def _has_size(file: Path, size: int) -> bool:
    return file.is_file() and file.stat().st_size == size
