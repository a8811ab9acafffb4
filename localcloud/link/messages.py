"""The lines of JSON that the two processes exchange."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from localcloud.link.configuration import HostsConfiguration
from localcloud.link.report import HostReport
from localcloud.link.wanted import Wanted

T = TypeVar("T")


@dataclass(frozen=True)
class Message(Generic[T]):
    """A kind of line. Reading a line checks it against the type of its value."""

    adapter: TypeAdapter[T]

    def to_line(self, value: T) -> str:
        """Returns a value as a line of ASCII, with its line end: the two processes may have any locale."""
        return json.dumps(self.adapter.dump_python(value, mode="json")) + "\n"

    def from_line(self, line: str | bytes) -> T:
        """Returns the value in a line.

        Raises:
            pydantic.ValidationError: the line holds something else.
        """
        return self.adapter.validate_json(line)


OPEN = "\n"
"""The first line of the hosts' process: what its hosts share is there."""

CONFIGURATION = Message(TypeAdapter(HostsConfiguration))
WANTED = Message(TypeAdapter(Wanted))
REPORT = Message(TypeAdapter(HostReport))
