"""Terraform and its providers, as they are in use on this machine, in one archive for the head."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import platform
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from controller.domain.errors import StoppedError, SupplyError

FORMAT = 1
CHUNK = 1 << 20
LEVEL = 3
"""gzip's: the archive has about a quarter of the files' size, and is packed in half a minute."""
OLD_S = 3600.0
"""What was not packed to its end within this time never will be."""
ELF = b"\x7fELF"
NAMES_OF_MACHINES: Mapping[str, str] = {"x86_64": "amd64", "aarch64": "arm64"}
LOCKED = re.compile(r'provider "([^"]+)" \{\s+version\s*=\s*"([^"]+)"')
"""A provider and its version in Terraform's lock file."""


@dataclass(frozen=True)
class Tools:
    """Files for the head, by their names in the archive, and the digest of all that is in it."""

    digest: str
    files: Mapping[str, Path]


@dataclass(frozen=True)
class Packed:
    """An archive on this machine (tar, packed by gzip), with its SHA-256 and its size in bytes."""

    path: Path
    sha256: str
    size: int


class TerraformTools:
    """Terraform's program and the providers of one environment.

    Args:
        directory: The environment's.
        is_stopping: Whether a person wants to stop.
        cache: Where archives are kept; by default in the user's cache.
    """

    def __init__(self, directory: Path, is_stopping: Callable[[], bool], cache: Path | None = None) -> None:
        self._directory, self._is_stopping = directory, is_stopping
        self._cache = cache or _default_cache()

    def misfit(self, machine: str) -> str:
        """Returns why a head with this processor (`x86_64`) can't run the Terraform of this machine; empty where it
        can."""
        if (platform.system(), platform.machine()) != ("Linux", machine):
            return (
                f"the head is Linux on {machine}, and this machine is {platform.system()} on {platform.machine()}: its "
                "Terraform and its provider can't run there"
            )
        program = shutil.which("terraform")
        if program is None:
            return "there is no terraform on the PATH"
        with Path(program).open("rb") as file:
            if file.read(len(ELF)) != ELF:
                return f"{program} is a script that starts another Terraform, and the head needs the program itself"
        return ""

    def find(self) -> Tools:
        """Returns Terraform and the providers that `terraform init` has chosen.

        Raises:
            SupplyError: There is no Terraform, or a provider is missing.
            StoppedError: A person wants to stop.
        """
        program = shutil.which("terraform")
        if program is None:
            raise SupplyError("There is no terraform on the PATH.", "Install it. `make setup` says what is missing.")
        files = {"bin/terraform": Path(program).resolve(), **self._providers()}
        try:
            said = {name: self._sha256(path) for name, path in sorted(files.items())}
        except OSError as error:
            raise _unreadable(error) from error
        inputs = json.dumps({"format": FORMAT, "files": said}, sort_keys=True)
        return Tools(hashlib.sha256(inputs.encode()).hexdigest(), files)

    def pack(self, tools: Tools) -> Packed:
        """Packs the tools, unless the cache has them.

        Raises:
            SupplyError: They can't be read, or the disk is full.
            StoppedError: A person wants to stop.
        """
        archive = self._cache / f"{tools.digest}.tar.gz"
        try:
            if not archive.is_file():
                self._cache.mkdir(parents=True, exist_ok=True)
                self._write(tools, archive)
            return Packed(archive, self._sha256(archive), archive.stat().st_size)
        except OSError as error:
            raise _unreadable(error) from error

    def _providers(self) -> dict[str, Path]:
        """Returns the files of all providers that the lock file names, laid out as a mirror of Terraform's."""
        root = self._directory / (os.environ.get("TF_DATA_DIR") or ".terraform") / "providers"
        here = f"linux_{NAMES_OF_MACHINES.get(platform.machine(), platform.machine())}"
        try:
            lock = (self._directory / ".terraform.lock.hcl").read_text(encoding="utf-8")
        except OSError as error:
            raise _not_initialised(self._directory) from error
        found: dict[str, Path] = {}
        for source, version in LOCKED.findall(lock):
            folder = root / source / version / here
            files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
            if not files:
                raise _not_initialised(self._directory)
            found |= {f"mirror/{source}/{version}/{here}/{path.relative_to(folder)}": path for path in files}
        return found

    def _write(self, tools: Tools, archive: Path) -> None:
        for left in self._cache.glob("*.coming"):  # by one that was killed
            if time.time() - left.stat().st_mtime > OLD_S:
                left.unlink(missing_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._cache, suffix=".coming")
        try:
            with (
                os.fdopen(descriptor, "wb") as file,
                gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=file, mtime=0) as packed,
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as entries,
            ):
                for entry_name, path in sorted(tools.files.items()):
                    entry = tarfile.TarInfo(entry_name)
                    entry.size, entry.mode = path.stat().st_size, 0o755 if os.access(path, os.X_OK) else 0o644
                    with path.open("rb") as content:
                        entries.addfile(entry, _Stoppable(content.read, self._check))  # type: ignore[arg-type]
            Path(name).replace(archive)
        finally:
            with suppress(OSError):
                Path(name).unlink()

    def _sha256(self, path: Path) -> str:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                self._check()
                digest.update(chunk)
        return digest.hexdigest()

    def _check(self) -> None:
        if self._is_stopping():
            raise StoppedError("Stopped while Terraform was packed for the head.")


@dataclass(frozen=True)
class _Stoppable:
    """A file that is read until a person wants to stop."""

    content: Callable[[int], bytes]
    check: Callable[[], None]

    def read(self, size: int) -> bytes:
        self.check()
        return self.content(size)


def _default_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "centavo" / "tools"


def _not_initialised(directory: Path) -> SupplyError:
    return SupplyError(
        f"The providers of Terraform are not all in {directory}, so they can't be brought to the head.",
        f"`terraform/init {directory.name}` gets them.",
    )


def _unreadable(error: OSError) -> SupplyError:
    return SupplyError(
        f"Terraform can't be packed for the head: {error}.",
        "Check that the disk has room, and that Terraform and its providers can be read.",
    )
