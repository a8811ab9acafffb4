"""What a cloud of machines leaves on this machine: namespaces, links, routes, mounts, firewall tables, processes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.sandbox import processes_of

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "network namespaces": ("ip", "-o", "netns", "list"),
    "links": ("ip", "-o", "link", "show"),
    "routes": ("ip", "-o", "route", "show", "table", "all"),
    "firewall tables": ("nft", "list", "tables"),
}
WORDS_OF_A_LINK = 2


def traces(folder: Path) -> dict[str, list[str]]:
    """Returns what there is of each kind, sorted; of the processes, those that work in the folder."""
    found = {name: _lines(name, command) for name, command in COMMANDS.items()}
    found["mounts"] = sorted(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    found["processes"] = sorted(processes_of(folder).values())
    return found


def left_over(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Returns what is there now and was not there before, by kind; kinds without any are left out."""
    new = {name: [line for line in lines if line not in before[name]] for name, lines in after.items()}
    return {name: lines for name, lines in new.items() if lines}


def summary(found: Mapping[str, list[str]]) -> str:
    """Returns how many there are of each kind."""
    return json.dumps({name: len(lines) for name, lines in found.items()})


def _lines(name: str, command: tuple[str, ...]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    lines = done.stdout.splitlines()
    if name == "links":  # the rest of a line changes with each packet and each state
        lines = [" ".join(line.split()[1:WORDS_OF_A_LINK]) for line in lines]
    return sorted(lines)
