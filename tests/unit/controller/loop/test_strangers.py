"""Whole runs in which one node sends nonsense, lies, or has a wrong clock: the move is made all the same."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from controller.domain import NodeSeen, Observation, WorkerState
from controller.domain.reasons.nodes import ClockOff, FactFromTheFuture, FactOld, FactTorn
from controller.edges.ansible import Outcome
from controller.edges.answer import parse_fact_file
from controller.observe.clocks import clocks_off
from tests.unit.controller.harness import Controller, new_world

LIAR = "i-0001"
STAYS = "i-0002"
"""The c5.large of the first fleet, which is in the last fleet too."""


def run(root: Path, liar: str, lie: dict[str, Any], skew_s: float = 0.0) -> tuple[dict[str, Any], list[Observation]]:
    """Runs to the end in a world in which the facts of one node have wrong fields, once the training goes on.

    Returns:
        The report, and what each look saw.
    """
    world = new_world(total_steps=2000)
    one = Controller(world, root)
    honest, read, look = world.fact, one.ansible.read_local_facts, one.cluster.observer.look
    seen: list[Observation] = []

    def fact(node: Any) -> Any:
        told = honest(node)
        if told is None or node.instance_id != liar or world.step < 20:
            return told
        return parse_fact_file(json.dumps({**told, **_later(told, skew_s), **lie}).encode())

    def read_local_facts(*given: Any) -> Outcome:
        outcome: Outcome = read(*given)
        if skew_s and world.step >= 20:
            outcome.nodes[liar] = NodeSeen(liar, WorkerState.WARM, skew_s)
        return outcome

    def look_and_keep() -> Observation:
        seen.append(look())
        return seen[-1]

    world.fact = fact  # type: ignore[method-assign]
    one.ansible.read_local_facts = read_local_facts  # type: ignore[method-assign]
    one.cluster.observer.look = look_and_keep  # type: ignore[method-assign]
    return one.optimizer.run(), seen


def _later(told: dict[str, Any], skew_s: float) -> dict[str, Any]:
    at = datetime.fromisoformat(told["updated_at"].removesuffix("Z"))
    return {"updated_at": (at + timedelta(seconds=skew_s)).isoformat() + "Z"}


def assert_moved(report: dict[str, Any]) -> None:
    assert [move["outcome"] for move in report["moves"]] == ["done"]
    assert (report["status"], report["fleet"]["final"]) == ("finished", {"c5.large": 3})


@pytest.mark.parametrize("lie", [{"step": 1999}, {"total_steps": 21}, {"total_tokens": 10**15}])
def test_one_rank_that_lies_about_the_progress_suppresses_no_move(lie: dict[str, Any], tmp_path: Path) -> None:
    report, _ = run(tmp_path, LIAR, lie)
    assert_moved(report)


@pytest.mark.parametrize("lie", [{"step": 10**400}, {"last_change": {"at": 10**400}}])
def test_a_fact_with_a_number_beyond_all_bounds_makes_its_node_unknown_and_ends_no_controller(
    lie: dict[str, Any], tmp_path: Path
) -> None:
    report, seen = run(tmp_path, STAYS, lie)
    assert report["status"] == "finished"
    assert FactTorn in {type(node.reason) for each in seen for node in each.unknown if node.instance_id == STAYS}


def test_a_fact_that_is_nested_deeply_ends_no_controller(tmp_path: Path) -> None:
    nested: Any = 1
    for _ in range(500):
        nested = [nested]
    report, seen = run(tmp_path, STAYS, {"reason": nested})
    said = {str(node.reason) for each in seen for node in each.unknown if node.instance_id == STAYS}
    assert report["status"] == "finished" and any("nested" in each for each in said)


def test_what_a_rank_says_of_itself_reaches_people_as_harmless_text(tmp_path: Path) -> None:
    report, seen = run(tmp_path, STAYS, {"reason": "\x1b[2J\r\n" + "x" * 10_000})
    assert_moved(report)
    reasons = [fact.reason for each in seen for fact in each.facts if fact.reason is not None]
    assert reasons and all(each.isprintable() and len(each) <= 2_000 for each in reasons)


@pytest.mark.parametrize("skew_s", [20.0, -300.0])
def test_a_node_whose_clock_is_off_is_named_and_suppresses_no_move(skew_s: float, tmp_path: Path) -> None:
    report, seen = run(tmp_path, STAYS, {}, skew_s)
    assert_moved(report)
    reasons = {type(node.reason) for each in seen for node in each.unknown if node.instance_id == STAYS}
    assert not reasons & {FactOld, FactFromTheFuture}
    assert clocks_off(seen[-2]) == (ClockOff(STAYS, skew_s),)
