"""Reports of nodes that came by way of the head: which of them count, whatever is in the file."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from controller.domain import Instance
from controller.observe import reports
from controller.observe.reports import DELAY_S, MAX_AGE_S, read_reports

NOW = 1_800_000_000.0
WORKERS = (
    Instance("i-1", "c5.large", "worker", "running", "10.0.0.1"),
    Instance("i-2", "c5.large", "worker", "running", "10.0.0.2"),
)
FACT = {"schema": 1, "instance_id": "i-1", "state": "training"}


def report(fact: Any = FACT, **changes: Any) -> dict[str, Any]:
    text = fact if isinstance(fact, str) else json.dumps(fact)
    return {"fact": text, "clock": NOW, "received_at": NOW, **changes}


def packed(nodes: Any, **changes: Any) -> bytes:
    return gzip.compress(json.dumps({"schema": 1, "nodes": nodes, **changes}).encode(), mtime=0)


def read(content: bytes, *, head_clock: float = NOW, head_ahead_s: float = 0.0) -> dict[str, float]:
    """Returns how far the clock of each node is ahead whose report counts."""
    found = read_reports(content, WORKERS, head_clock=head_clock, head_ahead_s=head_ahead_s)
    return {instance_id: each.clock_ahead_s for instance_id, each in found.items()}


def test_a_report_of_a_rank_that_trains_is_its_nodes_fact() -> None:
    content = packed({"10.0.0.1": report(), "10.9.9.9": report()})
    found = read_reports(content, WORKERS, head_clock=NOW + 1, head_ahead_s=0.0)
    assert {name: each.fact for name, each in found.items()} == {"i-1": FACT}


def test_a_rank_that_lies_can_write_its_own_fact_only() -> None:
    claims = {**FACT, "instance_id": "i-1"}
    assert read(packed({"10.0.0.2": report(claims)})) == {}
    assert read(packed({"10.0.0.2": report(claims), "10.0.0.1": report()})) == {"i-1": 0.0}


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        "x",
        report(fact={**FACT, "state": "starting"}),
        report(fact={**FACT, "state": "failed"}),
        report(fact={**FACT, "state": ["training"]}),
        report(fact="{"),
        report(fact="[" * 100_000),
        report(fact="\ud800"),
        report(fact=[1]),
        {**report(), "fact": FACT},
        report(clock=None),
        report(clock=True),
        report(clock=-1),
        report(clock=1e300),
        report(clock=4e9),
        report(received_at="now"),
        report(received_at=NOW - MAX_AGE_S - 0.1),
        report(received_at=NOW + MAX_AGE_S + 0.1),
        report(fact=json.dumps({**FACT, "pad": "x" * 70_000})),
    ],
)
def test_in_any_doubt_the_node_is_asked_itself(raw: Any) -> None:
    assert read(packed({"10.0.0.1": raw})) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        packed({"10.0.0.1": report()})[:-9],
        packed({"10.0.0.1": report()}, schema=2),
        packed([]),
        packed(None),
        gzip.compress(b"[]", mtime=0),
        gzip.compress(b"[" * 100_000, mtime=0),
        gzip.compress(b"\xff", mtime=0),
    ],
)
def test_a_file_that_can_not_be_read_says_nothing(content: bytes) -> None:
    assert read(content) == {}


@pytest.mark.parametrize("late_s", [MAX_AGE_S, -MAX_AGE_S])
def test_a_report_may_be_as_old_as_the_limit(late_s: float) -> None:
    assert read(packed({"10.0.0.1": report(received_at=NOW - late_s, clock=NOW - late_s)})) == {"i-1": 0.0}


def test_a_file_that_unpacks_to_too_much_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    content = packed({"10.0.0.1": report(), "pad": "x" * 5000})
    assert read(content) == {"i-1": 0.0}
    monkeypatch.setattr(reports, "MOST_BYTES", 5000)
    assert read(content) == {}


def test_the_clock_of_a_node_is_told_by_way_of_the_heads() -> None:
    on_its_way = packed({"10.0.0.1": report(clock=NOW - DELAY_S + 0.1)})
    assert read(on_its_way) == {"i-1": 0.0}
    assert read(on_its_way, head_ahead_s=30.0) == {"i-1": 30.0}
    assert read(packed({"10.0.0.1": report(clock=NOW + 60)}), head_ahead_s=30.0) == {"i-1": 90.0}
    assert read(packed({"10.0.0.1": report(clock=0)})) == {"i-1": -NOW}, "it was never set"


@pytest.mark.parametrize(("off_s", "told_s"), [(DELAY_S, 0.0), (-DELAY_S, 0.0), (DELAY_S + 1.0, DELAY_S + 1.0)])
def test_a_clock_that_is_off_by_what_a_report_may_take_is_taken_for_right(off_s: float, told_s: float) -> None:
    assert read(packed({"10.0.0.1": report(clock=NOW + off_s)})) == {"i-1": told_s}
