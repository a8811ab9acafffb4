"""Lines of logs: which are wanted, and how they are shown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone

from controller.domain.text import one_line
from controller.edges.account.logs import LogLine
from controller.shipping.streams import LAUNCHER, rank_name
from controller.words.times import clock

MOST_CHARACTERS = 300_000
"""More than CloudWatch keeps of a line."""
REPEATED = re.compile(r"\[[^\]\s]+\] \d\d:\d\d:\d\d [A-Z]+ ")
"""How a line of the launcher's log begins that a rank's own log has, too."""


@dataclass(frozen=True)
class Wanted:
    """Which lines a person wants.

    Attributes:
        log: The name of a log, or how the names of several begin, up to a hyphen. Empty: all.
        text: What a line has to contain.
    """

    log: str = ""
    text: str = ""

    def is_of(self, name: str) -> bool:
        """Returns whether the log of that name is wanted."""
        return not self.log or name == self.log or name.startswith(self.log + "-")

    def has(self, line: LogLine) -> bool:
        """Returns whether a line is wanted. The launcher's copies of ranks' lines are not, beside the ranks' own."""
        is_copy = not self.log and line.log == LAUNCHER and REPEATED.match(line.message) is not None
        return self.is_of(line.log) and self.text in line.message and not is_copy


def as_text(run: str, line: LogLine) -> str:
    """Returns a line as people read it."""
    rank = rank_of(run, line.log)
    name = line.log if rank is None else f"rank {rank}"
    return f"{clock(line.at)} {name}: {one_line(line.message, MOST_CHARACTERS)}"


def as_json(run: str, line: LogLine) -> str:
    """Returns a line as `logs.schema.json` describes it."""
    at = datetime.fromtimestamp(line.at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    document = {"at": at, "run": run, "log": line.log, "rank": rank_of(run, line.log), "message": line.message}
    return json.dumps(document)


def rank_of(run: str, log: str) -> int | None:
    """Returns the rank whose log this is; None where it is no rank's."""
    number = log.removeprefix(rank_name(run, 0).removesuffix("0"))
    return int(number) if number != log and number.isdecimal() else None
