"""What nodes reported to the launcher on the head: accepted only where the node itself would say no other thing.

The file comes from the head, and the facts in it from strangers. A report that is old, or of another node than the one
at its address, or of a rank that does not train, counts as none: its node is asked directly.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain import Instance, TrainingState
from controller.edges.answer import parse_fact_file

SCHEMA = 1
MOST_BYTES = 32 * 1024**2
"""The most bytes that are unpacked."""
MAX_AGE_S = 10.0
"""A node reports every two seconds. One that has not for so long is asked itself."""
DELAY_S = 2.0
"""A report takes a while to the head. A clock that seems off by less may be right."""
GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class Report:
    """What a node has reported.

    Attributes:
        fact: Its iteration fact, as parsed JSON. It is checked as one that comes from the node itself.
        clock_ahead_s: How far its clock is ahead of the controller's.
    """

    fact: Mapping[str, Any]
    clock_ahead_s: float


def read_reports(
    content: bytes, workers: Sequence[Instance], *, head_clock: float, head_ahead_s: float
) -> dict[str, Report]:
    """Returns by instance id the reports of these workers that can be trusted as the nodes' own answers.

    Args:
        content: The file, as it lies on the head. Nothing is in it where it can't be read.
        workers: The workers that run.
        head_clock: The head's time when it was asked, in seconds since the epoch.
        head_ahead_s: How far the head's clock is ahead of the controller's.
    """
    nodes = _nodes(content)
    found = {w.instance_id: _report(nodes.get(w.private_ip or ""), w, head_clock, head_ahead_s) for w in workers}
    return {instance_id: report for instance_id, report in found.items() if report is not None}


def _nodes(content: bytes) -> Mapping[str, Any]:
    """Returns the reports by address; empty where the file is torn, too large or of a foreign schema."""
    unpacker = zlib.decompressobj(GZIP)
    try:
        text = unpacker.decompress(content, MOST_BYTES)
        document = json.loads(text) if unpacker.eof else None
    except (zlib.error, ValueError, RecursionError):
        return {}
    nodes = document.get("nodes") if isinstance(document, dict) and document.get("schema") == SCHEMA else None
    return nodes if isinstance(nodes, dict) else {}


def _report(raw: Any, worker: Instance, head_clock: float, head_ahead_s: float) -> Report | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("fact"), str):
        return None
    clock, received_at = _seconds(raw.get("clock")), _seconds(raw.get("received_at"))
    if clock is None or received_at is None or abs(head_clock - received_at) > MAX_AGE_S:
        return None
    fact = parse_fact_file(raw["fact"].encode(errors="replace"))
    if not isinstance(fact, dict) or fact.get("instance_id") != worker.instance_id:
        return None
    if fact.get("state") != TrainingState.TRAINING.value:
        return None
    ahead_of_head_s = clock - received_at
    return Report(fact, head_ahead_s + (ahead_of_head_s if abs(ahead_of_head_s) > DELAY_S else 0.0))


def _seconds(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 4e9 else None
