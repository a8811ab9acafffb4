"""`status`: shows the instances of the daemon that runs."""

from __future__ import annotations

import json
from typing import Any

from localcloud.commands.client import ask
from localcloud.commands.exit_status import FAILED, NOT_RUNNING, OK, fail
from localcloud.state import Running, StateDir

COLUMNS = ["INSTANCE", "FLAVOR", "ADDRESS", "STATE", "HOST", "USER DATA", "SPEED (cores)", "GROUP"]


def status(state: StateDir, as_json: bool) -> int:
    """Runs the command, and returns its exit status."""
    running = state.running()
    if running is None:
        print(json.dumps({"running": False}) if as_json else f"localcloud is not running here ({state.path})")
        return NOT_RUNNING
    try:
        document = ask(state, running.settings, "status")
    except OSError as error:
        endpoint = running.settings.endpoint
        return fail(
            FAILED,
            f"process {running.pid} lives, but {endpoint} does not answer: {error}. Its log is {state.log}",
        )
    if as_json:
        print(json.dumps({"running": True, "pid": running.pid, **document}, indent=2))
    else:
        print(_text(running, document))
    return OK


def _text(running: Running, document: dict[str, Any]) -> str:
    head = f"localcloud at {document['endpoint']}, process {running.pid}, VPC {document['vpc_cidr']}"
    rows = [_row(instance) for instance in document["instances"]]
    return "\n".join([head, *(_table([COLUMNS, *rows]) if rows else ["no instances"])])


def _row(instance: dict[str, Any]) -> list[str]:
    return [
        instance["instance_id"],
        instance["flavor"],
        instance["ip"] or "-",
        instance["state"],
        instance["host"] or "-",
        instance["user_data"] or "-",
        "unbraked" if instance["speed"] is None else f"{instance['speed']:.2f}",
        instance["group"] or "-",
    ]


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]
