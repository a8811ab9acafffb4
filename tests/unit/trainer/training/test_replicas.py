"""Replicas that differ are noticed, put right from the majority, counted and told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.support.ranks import ROOT, run_world
from tests.support.small_training import small
from trainer.elastic.rank_report import RankReport
from trainer.messages.lines import Silent
from trainer.training import state as states
from trainer.training.loop import Training
from trainer.training.state import TrainingState
from trainer.worker.rank import Rank


def train(directory: Path, size: int, faults: list[tuple[int, int, str]]) -> tuple[dict[str, Any], list[str]]:
    """Trains with faults, each a rank, a step and what is faulty. Returns the scores and what the ranks said."""
    sections = {"checkpoint": {"every_steps": 2, "keep": 10}, "elastic": {"check_replicas_every_steps": 4}}
    config = directory / "training.yml"
    settings = small(directory, stop={"steps": 14}, balance={"enabled": False}, **sections)
    config.write_text(yaml.safe_dump(settings.model_dump(mode="json", exclude_unset=True)))
    told = json.dumps([dict(zip(("rank", "step", "what"), fault, strict=True)) for fault in faults])
    program = [sys.executable, "-W", "ignore", str(ROOT / "tests" / "support" / "faulty_rank.py"), told]

    def command_of(rank: int) -> list[str]:
        return [*program, "train", "--config", str(config), "--fact-path", str(directory / f"facts{rank}")]

    codes, _, said = run_world(size, command_of)
    assert codes == [0] * size, "\n".join(said)
    return dict(json.loads((directory / "storage" / "results" / "scores.json").read_text())), said


@pytest.mark.slow
def test_a_rank_that_differs_takes_over_the_state_of_the_majority(tmp_path: Path) -> None:
    scores, said = train(tmp_path, 3, [(0, 5, "parameters"), (1, 9, "optimizer"), (2, 10, "gradients")])
    assert scores["replicas_identical"]
    assert (scores["steps"], scores["replicas_corrected"], scores["skipped_updates"]) == (14, 2, 1)
    assert "the state of rank 0 differs from that of rank 1 after step 8 (all were equal after step 4)" in said[0]
    # The update of step 10 is skipped on all ranks, and so they are compared at once.
    assert "the state of rank 1 differs from that of rank 0 after step 10 (all were equal after step 8)" in said[0]
    assert "rank 1 differs" in said[1] and "the state of rank" not in said[2]
    kept = {path.name[-3:] for path in (tmp_path / "storage" / "checkpoints").iterdir()}
    assert "006" not in kept, "it was written by a rank that differed"
    assert "008" in kept, "it was written in its place"


@pytest.mark.slow
def test_between_two_ranks_the_better_model_is_taken_and_broken_parameters_are_put_right_at_once(
    tmp_path: Path,
) -> None:
    scores, said = train(tmp_path, 2, [(0, 5, "parameters"), (1, 9, "broken parameters")])
    assert scores["replicas_identical"]
    assert (scores["steps"], scores["replicas_corrected"], scores["skipped_updates"]) == (14, 2, 1)
    assert "no state of the replicas has a majority" in said[0]
    assert "the state of rank 0 differs from that of rank 1 after step 8" in said[0]
    assert "the state of rank 1 differs from that of rank 0 after step 10" in said[1]


@pytest.fixture
def one(tmp_path: Path) -> Training:
    made = Rank.of(small(tmp_path)).prepare(Silent(), resume=False)
    assert made is not None
    return made


def flip(array: Any) -> None:
    """Flips the lowest bit of the last number of an array."""
    values = array.asnumpy()
    values.reshape(-1)[-1:].view(np.uint32)[:] ^= 1
    array[:] = values


CHANGES: dict[str, Callable[[Training], None]] = {
    "a bit of a parameter": lambda one: flip(list(one.prepared.parameters.values())[-1].data()),
    "a bit of a mean": lambda one: flip(one.prepared.adam.means[0]),
    "a bit of a variance": lambda one: flip(one.prepared.adam.variances[3]),
    "the updates": lambda one: setattr(one.prepared.adam, "updates", 1),
    "the cursor": lambda one: setattr(one.state.progress, "cursor", 1),
    "patience": lambda one: setattr(one.state.progress, "poor_validations", 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_anything_that_decides_the_next_steps_changes_the_checksum(change: str, one: Training) -> None:
    before = one.state.checksum()
    assert one.state.checksum() == before
    CHANGES[change](one)
    assert one.state.checksum() != before


def test_logs_and_times_of_each_rank_s_own_do_not_change_the_checksum(one: Training) -> None:
    before = one.state.checksum()
    one.state.progress.log.append({"step": 1, "tokens_per_s": 7.5})
    one.state.progress.replicas_corrected += 1
    assert one.state.checksum() == before


@pytest.mark.parametrize(("others", "source"), [(["b", "b"], 1), (["a", "b"], 0), (["a", "a"], None)])
def test_equal_steps_are_no_equal_states_when_a_world_begins(
    one: Training, monkeypatch: pytest.MonkeyPatch, others: list[str], source: int | None
) -> None:
    def exchange(mine: RankReport) -> tuple[list[RankReport], int]:
        return [report(checksum) for checksum in ("a", *others)], source or 0

    taken: list[int] = []
    monkeypatch.setattr(states, "exchange_reports", exchange)
    monkeypatch.setattr(TrainingState, "take_over", lambda self, rank: taken.append(rank))
    one.state.share(report("a"))
    assert taken == ([] if source is None else [source])


def report(checksum: str) -> RankReport:
    return RankReport(True, 10, checksum, 0, 3, None, None, "the same")
