"""Nodes that are far slower than their flavor: named, ended first, and replaced where that pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide import Batches, DecideSettings, Objective
from controller.decide.model.bad_nodes import running_bad_nodes
from controller.decide.model.speeds import Speed
from controller.domain import Decision, Fleet, History, Limits, Move, MovePhase, Observation, Verdict
from controller.domain.reasons import Said
from controller.domain.reasons.deciding import LeavesBadNodes
from controller.domain.reasons.limits import TooSlowForDeadline
from tests.unit.controller.decide.model.test_communication import fact

BAD = "i-c5.large-0"
SETTINGS = DecideSettings(probe_share=0.0)


def with_bad_node(observation: Observation) -> Observation:
    """The first c5.large works at half its flavor's speed, and all wait for it or have its work to do."""
    slow = [replace(f, tokens=f.tokens / 2) if f.instance_id == BAD else f for f in observation.facts]
    return replace(observation, facts=tuple(slow))


def decide(training, limits: Limits, settings: DecideSettings = SETTINGS) -> Decision:
    """Decide on a fleet whose first c5.large is bad, and always was."""
    observation = with_bad_node(training.observe())
    seen = tuple(with_bad_node(earlier) for earlier in training.observations)
    return training.decide(limits, settings, observation, history=History(training.moves), earlier=seen)


def test_the_bad_nodes_that_report_now_are_told_the_slowest_first() -> None:
    speeds = {
        "a": Speed(100.0, 0.1, bad_nodes={"i-2": 0.6, "i-0": 0.7, "i-1": 0.3, "i-9": 0.1}),
        "b": Speed(100.0, 0.1, bad_nodes={"i-8": 0.2}),
        "c": Speed(100.0, 0.1),
    }
    before = Observation(10.0, Fleet({"a": 4, "b": 1}), tuple(fact(node, 5) for node in (0, 1, 2, 8, 9)))
    now = Observation(20.0, Fleet({"a": 3}), tuple(fact(node, 3) for node in (0, 1, 2)))
    found = running_bad_nodes(speeds, (before, now))
    assert [*found] == ["a"]
    assert [*found["a"].items()] == [("i-1", 0.3), ("i-2", 0.6), ("i-0", 0.7)]
    assert running_bad_nodes(speeds, ()) == {}


@pytest.fixture
def six_alike(training):
    """Six c5.large, beside a c5.xlarge that was measured earlier."""
    training.prices["c5.xlarge"] = 0.107
    training.observations = (replace(training, now=500.0, step=500, fleet=Fleet({"c5.xlarge": 1})).observe(),)
    training.fleet = Fleet({"c5.large": 6})
    return training


def test_a_bad_node_is_replaced_by_its_like_where_there_is_room_for_one_more(six_alike):
    six_alike.prices["c5.xlarge"] = 1.0
    decision = decide(six_alike, Limits(6, 7))
    assert decision.verdict is Verdict.MOVE
    assert decision.target == Fleet({"c5.large": 7})
    assert decision.bad_nodes == (BAD,)
    reason = decision.reason
    assert isinstance(reason, LeavesBadNodes)
    assert (reason.target, reason.instances) == (decision.target, (BAD,))
    assert 0 < reason.saving_usd < reason.remaining_usd
    six_alike.make(decision)
    assert decide(six_alike, Limits(6, 7)).target == Fleet({"c5.large": 6})


def test_a_bad_node_gives_way_to_another_flavor_where_the_size_is_fixed(six_alike):
    decision = decide(six_alike, Limits(6, 6))
    assert decision.target == Fleet({"c5.large": 5, "c5.xlarge": 1})


def test_a_bad_node_ends_where_fewer_nodes_are_cheaper(six_alike):
    six_alike.communication_s = lambda size: 0.02 * size
    decision = decide(six_alike, Limits(5, 6))
    assert decision.target == Fleet({"c5.large": 5})


def test_a_bad_node_stays_where_the_work_is_nearly_done(six_alike):
    six_alike.step = 193_000
    decision = decide(six_alike, Limits(6, 7), replace(SETTINGS, saving_margin=0.08))
    assert decision.verdict is not Verdict.MOVE
    assert decision.bad_nodes == (BAD,)


def test_a_move_that_left_the_bad_node_where_it_is_is_not_tried_again(six_alike):
    six_alike.wait()
    move = Move(
        1, six_alike.now, Fleet({"c5.large": 7}), six_alike.fleet, Said(""), MovePhase.DONE, ended_at=six_alike.now
    )
    six_alike.moves = (move,)
    six_alike.now += 1000.0
    assert decide(six_alike, Limits(6, 7)).verdict is Verdict.STAY


def test_of_equal_batches_a_bad_node_costs_half_of_all(six_alike):
    balanced = decide(six_alike, Limits(6, 7))
    equal = decide(six_alike, Limits(6, 7), replace(SETTINGS, batches=Batches.EQUAL))
    assert balanced.fleets[0].tokens_per_s == pytest.approx(2000 * 5.5)
    assert equal.fleets[0].tokens_per_s == pytest.approx(1000 * 6)


def test_a_bad_node_counts_against_the_deadline(six_alike):
    # 199,000 steps take 99,500 s on six sound nodes and 108,545 s on these.
    six_alike.prices["c5.xlarge"] = 1.0
    limits = Limits(6, 6, deadline_at=six_alike.now + 105_000.0)
    decision = decide(six_alike, limits, replace(SETTINGS, objective=Objective.COST))
    assert isinstance(decision.reason, TooSlowForDeadline)
    assert decision.reason.needed_s == pytest.approx(108_545, abs=1)
    assert decision.reason.left_s == pytest.approx(105_000)
