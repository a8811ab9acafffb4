"""The bundle: all that a controller needs to go on with a run elsewhere, as an archive that is named by its digest.

The same files give the same archive, byte for byte. No private key and no AWS credentials are ever in it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controller.config.environment import Environment
from controller.domain.errors import ConfigError, JournalError
from controller.edges.archive import mode_of, packed
from controller.owning.keys import CONTROL
from controller.owning.sources import JournalSource
from controller.record.journal.schema import FILE_NAME

PARTS = ("controller", "ansible", "trainer", "requirements")
"""Folders of the repository that are taken as they are."""
TERRAFORM, ENVIRONMENTS = "terraform", "environments"
FILES = ("pyproject.toml", "LICENSE")
LEFT_OUT = ("__pycache__", "tests", "examples", "image")
LOCK_FILE = ".terraform.lock.hcl"
"""The only hidden file that is taken."""
NEVER = (".backup", ".tfplan", ".pyc", ".md")
OF_THE_CHECKOUT = ("speeds.json", "prices.json", "volumes.json", "known_hosts")
"""What a run needs of `.centavo/ENV`."""


@dataclass(frozen=True)
class Bundle:
    """An archive (tar, packed by gzip) in memory: it has a few megabytes."""

    content: bytes

    @property
    def sha256(self) -> str:
        """The digest that names it."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def key(self) -> str:
        """The key of the object in the cluster's bucket."""
        return f"{CONTROL}/bundles/{self.sha256}.tar.gz"


def make_bundle(environment: Environment, run_directory: Path) -> Bundle:
    """Returns the bundle of a run.

    Raises:
        ConfigError: The settings name a file outside of the repository.
        JournalError: The journal can't be read.
    """
    check_files(environment)
    root = environment.root
    files = {os.path.relpath(path, root): (path.read_bytes(), mode_of(path)) for path in _files(environment)}
    run = os.path.relpath(run_directory, root)
    files |= {f"{run}/{path.name}": (path.read_bytes(), mode_of(path)) for path in _of_the_run(run_directory)}
    files[f"{run}/{FILE_NAME}"] = (_journal(run_directory), 0o644)
    # The head's controller has a key of its own, and Terraform has to find the cluster's there.
    files[os.path.relpath(environment.taken_key_file, root)] = (environment.cluster_key_file.read_bytes(), 0o644)
    return Bundle(packed(files))


def check_files(environment: Environment) -> None:
    """Raises ConfigError where the settings name a file outside of the repository, which another machine lacks."""
    for path in _named(environment):
        if not path.resolve().is_relative_to(environment.root):
            raise ConfigError(
                f"{environment.settings_file} names {path}, which lies outside of the repository: a controller on the "
                "head would not have it.",
                "Copy the file into the repository and name it there, or run without `--detach`.",
            )


def _named(environment: Environment) -> list[Path]:
    """Returns the files that the settings name and that are read while a run goes on."""
    training, override = environment.settings.training, environment.negotiated_prices_file
    named = [environment.path(path) for path in (training.config, *training.speeds_depend_on)]
    return named if override is None else [*named, override]


def _files(environment: Environment) -> Iterator[Path]:
    root, settings = environment.root, environment.settings
    secret = {environment.identity_file.resolve()}
    if settings.aws.credentials_file is not None:
        secret.add(environment.path(settings.aws.credentials_file).resolve())
    terraform = root / TERRAFORM
    found = {root / name for name in FILES}
    for part in PARTS:
        found |= set(_below(root / part))
    found |= {path for path in _below(terraform) if not path.is_relative_to(terraform / ENVIRONMENTS)}
    found |= {*_below(environment.directory), *_named(environment)}
    found |= {environment.state_directory / name for name in OF_THE_CHECKOUT}
    yield from sorted(path for path in found if path.is_file() and path.resolve() not in secret)


def _below(folder: Path) -> Iterator[Path]:
    """Yields the files of a folder that belong to the product."""
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith(".")]
        for name in names:
            if name == LOCK_FILE or not (name.startswith(".") or name.endswith(NEVER)):
                yield Path(where, name)


def _of_the_run(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.iterdir()) if path.is_file() and not path.name.startswith(FILE_NAME)]


def _journal(directory: Path) -> bytes:
    """Returns the journal as it is at this moment."""
    content = JournalSource("", directory / FILE_NAME).content()
    if content is None:
        raise JournalError(f"The journal in {directory} can't be copied.", "See that the disk has room, and try again.")
    return gzip.decompress(content)
