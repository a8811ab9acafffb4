"""How far the training is, while one rank has wrong figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain import Fact, Fleet, Observation
from controller.domain.reasons.ending import LauncherFailed
from controller.observe.facts import parse_fact
from controller.observe.progress import TrainingEnd, read_end, read_progress
from tests.unit.controller.observe.test_facts import GOOD, NOW

RANK = parse_fact(GOOD, now=NOW, max_age_s=30)


def seen(*facts: Fact) -> Observation:
    return Observation(NOW, Fleet({"c5.xlarge": len(facts)}), facts)


def test_progress_is_what_the_ranks_say_that_know_the_length() -> None:
    progress = read_progress(seen(RANK, RANK, replace(RANK, total_steps=None, step=0)), NOW - 100)
    assert progress is not None
    assert (progress.step, progress.total_steps, progress.tokens) == (1480, 3000, 4_000_000)
    assert (progress.started_at, progress.at) == (NOW - 100, NOW)
    assert read_progress(seen(), NOW) is None is read_progress(seen(replace(RANK, total_steps=None)), NOW)


@pytest.mark.parametrize(
    "lie",
    [
        {"step": 2999},
        {"step": 0},
        {"total_steps": 1481},
        {"total_steps": 2**53 - 1},
        {"total_tokens": 0},
        {"total_tokens": 2**53 - 1},
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_rank_of_three_that_lies_is_outvoted(lie: dict[str, Any], place: int) -> None:
    ranks = [RANK, RANK, RANK]
    ranks[place] = replace(RANK, **lie)
    assert read_progress(seen(*ranks), NOW) == read_progress(seen(RANK), NOW)


@pytest.mark.parametrize("facts", [None, {}, {"training": "torn"}, {"training": {}}, {"training": {"status": ["x"]}}])
def test_a_head_that_tells_no_end_tells_none(facts: Any) -> None:
    assert read_end(facts) is None


def test_the_launchers_reason_is_one_short_line() -> None:
    end = read_end({"training": {"status": "failed", "reason": "lost\x1b[2J\n" + "x" * 10_000}})
    assert end is not None and isinstance(end.reason, LauncherFailed) and end.reason.said is not None
    assert end.reason.said.startswith("lost [2J xxx") and len(end.reason.said) == 4_000
    assert read_end({"training": {"status": "failed", "reason": 7}}) == TrainingEnd(False, LauncherFailed(None))


def test_a_rank_that_tells_no_tokens_has_none() -> None:
    progress = read_progress(seen(replace(RANK, total_tokens=None)), NOW)
    assert progress is not None and progress.tokens == 0


@pytest.mark.parametrize("done", [["finished"], {"status": "going on"}, {"status": 5}, "finished"])
def test_what_the_launcher_can_not_have_written_is_no_end(done: Any) -> None:
    assert read_end({"training": done}) is None
