"""The capacity file, `environments/ENV/capacity.auto.tfvars.json`: the one Terraform variable that the controller owns.

The file is written atomically, and never over a change of someone else: a file that differs from what was last read or
written here is left as it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from controller.domain import Fleet
from controller.domain.errors import CapacityFileError
from controller.domain.reasons.plans import (
    AbsurdCapacity,
    CapacityFileChanged,
    CapacityFileCorrupt,
    TooMuchCapacity,
    UndeclaredFlavor,
)
from controller.edges.files import write_whole
from controller.words.reasons.sentences import as_sentence

ABSURD_CAPACITY = 1000
"""More nodes of one flavor than this are taken for a mistake, whatever the limits say."""


class CapacityFile:
    """The capacity file of one environment, as it was when last read or written through this object.

    Args:
        path: The file.
        check_writer: Raises SupersededError where this controller may not write any more.
    """

    def __init__(self, path: Path, check_writer: Callable[[], None] = lambda: None) -> None:
        self.path, self._check_writer = path, check_writer
        self._digest: str | None = None
        self._last: Fleet | None = None

    def exists(self) -> bool:
        """Returns whether there is a capacity file."""
        return self.path.exists()

    def read(self) -> Fleet:
        """Returns the fleet in the file; an absent file is an empty fleet. Raises CapacityFileError when corrupt."""
        content = self._content()
        fleet = self._parsed(content)
        self._digest, self._last = _digest(content), fleet
        return fleet

    def peek(self) -> Fleet:
        """Returns the fleet in the file without accepting it: a change by someone else still counts as one."""
        return self._parsed(self._content())

    def write(self, fleet: Fleet) -> None:
        """Replaces the file's fleet.

        Raises:
            CapacityFileError: Someone else has changed the file since it was last read here, or the fleet is absurd.
                The file is then as it was.
            DiskError: The file can't be written. It is then as it was.
            SupersededError: Another controller has taken over. The file is then as it was.
        """
        check_capacity(fleet, self.path)
        self._check_writer()
        with self._locked():
            self._refuse_if_changed()
            content = format_capacity(fleet)
            write_whole(self.path, content)
            self._digest, self._last = _digest(content), fleet

    @property
    def last(self) -> Fleet:
        """The fleet as last read or written here."""
        return self.read() if self._last is None else self._last

    def refuse_if_changed(self) -> None:
        """Raises CapacityFileError when someone else has changed the file since it was last read here."""
        with self._locked():
            self._refuse_if_changed()

    def _parsed(self, content: bytes | None) -> Fleet:
        return Fleet({}) if content is None else parse_capacity(content, self.path)

    def _refuse_if_changed(self) -> None:
        if self._last is None:
            raise RuntimeError("the capacity file has to be read before it is written")
        if _digest(self._content()) != self._digest:
            reason = CapacityFileChanged(str(self.path))
            raise CapacityFileError(
                as_sentence(reason),
                "If the change is wanted, run `centavo apply` and start `centavo optimize` again. "
                "Otherwise restore the file.",
                reason=reason,
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
    """Returns the content of a capacity file."""
    return json.dumps({"capacity": dict(fleet)}, indent=2).encode() + b"\n"


def parse_capacity(content: bytes, path: Path) -> Fleet:
    """Returns the fleet in the content of a capacity file.

    Raises:
        CapacityFileError: The content is not that of a capacity file. The error names `path` and the fault.
    """
    try:
        document = json.loads(content)
    except ValueError as error:
        raise _corrupt(path, f"it is not JSON ({error})") from error
    if not isinstance(document, dict) or set(document) != {"capacity"} or not isinstance(document["capacity"], dict):
        raise _corrupt(path, 'it must hold one object called "capacity" and nothing else')
    try:
        fleet = Fleet(document["capacity"])
    except ValueError as error:
        raise _corrupt(path, str(error)) from error
    check_capacity(fleet, path)
    return fleet


def check_capacity(fleet: Fleet, path: Path, max_nodes: Mapping[str, int] | None = None) -> None:
    """Checks what a capacity file is to ask for.

    Args:
        fleet: What the file asks for.
        path: The file, for the errors.
        max_nodes: By flavor that Terraform declares the most nodes that it allows. None: not known.

    Raises:
        CapacityFileError: A capacity is absurd, more than Terraform allows, or of a flavor that is not declared.
    """
    for flavor, count in fleet.items():
        if count > ABSURD_CAPACITY:
            absurd = AbsurdCapacity(str(path), flavor, count, ABSURD_CAPACITY)
            raise CapacityFileError(as_sentence(absurd), "Ask for fewer.", reason=absurd)
        if max_nodes is None:
            continue
        if flavor not in max_nodes:
            undeclared = UndeclaredFlavor(str(path), flavor)
            known = ", ".join(sorted(max_nodes))
            raise CapacityFileError(
                as_sentence(undeclared),
                f"Terraform declares {known}. Add {flavor} to the environment's flavors first.",
                reason=undeclared,
            )
        if count > max_nodes[flavor]:
            too_much = TooMuchCapacity(str(path), flavor, count, max_nodes[flavor])
            raise CapacityFileError(
                as_sentence(too_much),
                "Ask for fewer, or raise max_nodes of the flavor in the environment.",
                reason=too_much,
            )


def _corrupt(path: Path, problem: str) -> CapacityFileError:
    reason = CapacityFileCorrupt(str(path), problem)
    repair = 'Restore the file from version control, or write {"capacity": {"FLAVOR": NODES, ...}}.'
    return CapacityFileError(as_sentence(reason), repair, reason=reason)


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
