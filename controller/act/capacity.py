"""The capacity file, `environments/ENV/capacity.auto.tfvars.json`: the one Terraform variable that the controller owns.

It is written atomically, and never over somebody else's change: a file that differs from what was last read or
written here is left alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from controller.domain import Fleet
from controller.domain.errors import CapacityFileError

ABSURD_CAPACITY = 1000
"""More nodes of one flavor than this are taken for a mistake, whatever the limits say."""


class CapacityFile:
    """The capacity file of one environment, as it was when last read or written through this object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digest: str | None = None
        self._last: Fleet | None = None

    def exists(self) -> bool:
        return self.path.exists()

    def read(self) -> Fleet:
        """The fleet in the file; an absent file is an empty fleet. Raises CapacityFileError when it is corrupt."""
        content = self._content()
        fleet = self._parsed(content)
        self._digest, self._last = _digest(content), fleet
        return fleet

    def peek(self) -> Fleet:
        """Like `read`, but what was read last, and so what counts as somebody else's change, stays as it was."""
        return self._parsed(self._content())

    def _parsed(self, content: bytes | None) -> Fleet:
        return Fleet({}) if content is None else parse_capacity(content, self.path)

    def write(self, fleet: Fleet) -> None:
        """Replaces the file's fleet. Raises CapacityFileError when somebody else has changed the file since it was
        last read here, or when the fleet is absurd; the file is then as it was."""
        check_capacity(fleet, self.path)
        with self._locked():
            self._refuse_if_changed()
            content = format_capacity(fleet)
            _replace(self.path, content)
            self._digest, self._last = _digest(content), fleet

    @property
    def last(self) -> Fleet:
        """The fleet as last read or written here."""
        return self.read() if self._last is None else self._last

    def refuse_if_changed(self) -> None:
        """Raises CapacityFileError when somebody else has changed the file since it was last read here."""
        with self._locked():
            self._refuse_if_changed()

    def _refuse_if_changed(self) -> None:
        if self._last is None:
            raise RuntimeError("the capacity file has to be read before it is written")
        if _digest(self._content()) != self._digest:
            raise CapacityFileError(
                f"{self.path} was changed by someone else since Centavo last read it; it was left as it is.",
                "Is the change wanted? Run `centavo apply` and start `centavo optimize` again. Else restore the file.",
            )

    def _content(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CapacityFileError(f"{self.path} can't be read: {error.strerror}.", "Make it readable.") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keeps two controllers of one environment from writing at the same time."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def format_capacity(fleet: Fleet) -> bytes:
    """A capacity file's content."""
    return json.dumps({"capacity": dict(fleet)}, indent=2).encode() + b"\n"


def parse_capacity(content: bytes, path: Path) -> Fleet:
    """The fleet in a capacity file's content. Raises CapacityFileError saying what is wrong with it."""
    repair = 'Restore it from version control, or write {"capacity": {"FLAVOR": NODES, ...}}.'
    try:
        document = json.loads(content)
    except ValueError as error:
        raise CapacityFileError(f"{path} is corrupt: it is not JSON ({error}).", repair) from error
    if not isinstance(document, dict) or set(document) != {"capacity"} or not isinstance(document["capacity"], dict):
        raise CapacityFileError(
            f'{path} is corrupt: it must hold one object called "capacity" and nothing else.', repair
        )
    try:
        fleet = Fleet(document["capacity"])
    except ValueError as error:
        raise CapacityFileError(f"{path}: {error}.", repair) from error
    check_capacity(fleet, path)
    return fleet


def check_capacity(fleet: Fleet, path: Path, most: Mapping[str, int] | None = None) -> None:
    """Raises CapacityFileError when a capacity is absurd, above `most` (the flavors that Terraform declares, with
    their maximum), or of a flavor that `most` does not know."""
    for flavor, count in fleet.items():
        if count > ABSURD_CAPACITY:
            raise CapacityFileError(
                f"{path}: {count} nodes of {flavor} are absurd (more than {ABSURD_CAPACITY}).", "Ask for fewer."
            )
        if most is None:
            continue
        if flavor not in most:
            raise CapacityFileError(
                f"{path}: the flavor {flavor} is not one that Terraform declares.",
                f"Known are {', '.join(sorted(most))}; add it to the environment's flavors first.",
            )
        if count > most[flavor]:
            raise CapacityFileError(
                f"{path}: {count} nodes of {flavor} are more than its {most[flavor]}.",
                "Ask for fewer, or raise max_nodes of the flavor in the environment.",
            )


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    """Writes beside the file and renames, so that a reader sees the old content or the new, never a part."""
    descriptor, name = tempfile.mkstemp(prefix=path.name, suffix=".new", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
