"""Facts are whole, fresh, and say nothing about steps that say nothing about the flavor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trainer.node.fact import MembershipChange, RankFigures, State
from trainer.node.fact_writer import FactWriter
from trainer.node.metadata import Instance


class Clock:
    """A time of day that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def writer(directory: Path, clock: Clock | None = None, **options: Any) -> FactWriter:
    return FactWriter(directory, Instance("i-1", "c5.large"), clock=clock or Clock(), **options)


def read(directory: Path) -> dict[str, Any]:
    return dict(json.loads((directory / "iteration.fact").read_text()))


def test_a_fact_begins_with_nothing_made_up(tmp_path: Path) -> None:
    writer(tmp_path).announce(State.STARTING, "building")
    fact = read(tmp_path)
    assert (fact["schema"], fact["instance_id"], fact["flavor"]) == (1, "i-1", "c5.large")
    assert (fact["state"], fact["reason"], fact["window"]) == ("starting", "building", 0)
    unknown = ("rank", "world_size", "iteration_time_s", "compute_time_s", "samples", "tokens", "loss", "last_change")
    assert all(fact[key] is None for key in unknown)
    assert fact["peak_memory_bytes"] > 0
    assert fact["updated_at"] == "1970-01-12T13:46:40.000Z"


def test_the_figures_of_a_training_are_in_the_fact(tmp_path: Path) -> None:
    change = MembershipChange("2026-11-21T06:00:00.000Z", 6, 11, 1.5, 0)
    facts = writer(tmp_path)
    facts.update(RankFigures(rank=3, world_size=11, step=7, tokens=1000.0, window=2, last_change=change))
    facts.announce(State.TRAINING)
    fact = read(tmp_path)
    assert (fact["rank"], fact["world_size"], fact["step"], fact["tokens"], fact["window"]) == (3, 11, 7, 1000.0, 2)
    assert fact["last_change"] == {
        "at": "2026-11-21T06:00:00.000Z", "from_size": 6, "to_size": 11, "pause_s": 1.5, "steps_lost": 0,
    }  # fmt: skip


def test_a_very_long_reason_is_cut(tmp_path: Path) -> None:
    writer(tmp_path).announce(State.FAILED, "a traceback " * 1000)
    assert len(read(tmp_path)["reason"]) == 2000


def test_facts_are_written_at_most_once_a_second_unless_the_state_changes(tmp_path: Path) -> None:
    clock = Clock()
    facts = writer(tmp_path, clock)
    assert facts.refresh()
    clock.now += 0.5
    assert not facts.refresh()
    facts.announce(State.DRAINING, "left as planned")
    assert read(tmp_path)["state"] == "draining"
    clock.now += 1.0
    assert facts.refresh()


def test_a_fact_is_replaced_as_a_whole_and_leaves_nothing_behind(tmp_path: Path) -> None:
    facts = writer(tmp_path / "facts.d")
    for _ in range(3):
        facts.announce(State.TRAINING)
    assert [path.name for path in (tmp_path / "facts.d").iterdir()] == ["iteration.fact"]
    assert (tmp_path / "facts.d" / "iteration.fact").stat().st_mode & 0o777 == 0o644


def test_a_full_disk_ends_no_training_and_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    facts = writer(tmp_path / "file")
    facts.announce(State.STARTING)
    facts.announce(State.TRAINING)
    assert facts.state is State.TRAINING
    assert caplog.text.count("cannot be written") == 1
