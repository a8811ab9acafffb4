"""A probe goes on without flavors that it can't have, so that the others are not bought twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from controller.domain import Fact, Fleet, Instance, Move, MovePhase
from controller.domain.errors import AnsibleError
from controller.domain.reasons.moving import DidNotJoin, NoCapacity, NotRunning
from tests.unit.controller.act.desk import LIMITS, MOVE, OLD, Desk, KilledError, kill_at, undone
from tests.unit.controller.act.fleet_in_memory import BEGAN_AT, Cluster

PROBED = Fleet({"t2.large": 2, "c5.large": 1, "c5.xlarge": 1})
PROBE = replace(MOVE, target=PROBED, is_probe=True)
REST = Fleet({"t2.large": 2, "c5.large": 1})


def without_xlarge(desk: Desk, move: Move = PROBE) -> Move:
    """Runs a probe to its end, which goes on without its c5.xlarge, and returns it: nothing of that is left."""
    ended = desk.run(move)
    assert (ended.phase, ended.target, ended.left_out) == (MovePhase.DONE, REST, Fleet({"c5.xlarge": 1}))
    assert desk.cluster.fleet == REST
    assert desk.cluster.capacities[-1] == REST
    assert {*desk.unavailable} == {"c5.xlarge"}
    assert all(len(hosts) in (2, 3) for hosts in desk.cluster.hosts_files), "the flavor that is left out never joined"
    return ended


def test_a_probe_goes_on_at_once_without_a_flavor_that_ec2_does_not_have(desk: Desk) -> None:
    desk.cluster.max_running = {"c5.xlarge": 0}
    desk.cluster.launch_errors = {"c5.xlarge": "InsufficientInstanceCapacity"}
    ended = without_xlarge(desk)
    assert ended.outcome_reason is None
    assert desk.unavailable == {"c5.xlarge": NoCapacity({"c5.xlarge": "InsufficientInstanceCapacity"})}
    assert desk.clock.now() - BEGAN_AT < LIMITS.boot_s
    said = "1: going on without 1 x c5.xlarge: EC2 could not launch c5.xlarge: InsufficientInstanceCapacity"
    assert said in desk.told


def test_a_probe_goes_on_without_a_flavor_that_never_runs(desk: Desk) -> None:
    desk.cluster.max_running = {"c5.xlarge": 0}
    without_xlarge(desk)
    assert LIMITS.boot_s <= desk.clock.now() - BEGAN_AT < LIMITS.boot_s + 10


def test_a_probe_goes_on_without_a_flavor_that_never_answers(desk: Desk) -> None:
    desk.cluster.mute = {"c5.xlarge": "connection refused"}
    without_xlarge(desk)
    assert LIMITS.boot_s <= desk.clock.now() - BEGAN_AT < LIMITS.boot_s + 20


def test_a_probe_goes_on_without_a_flavor_that_can_not_be_configured(desk: Desk) -> None:
    configure = desk.cluster.configure

    def fails_on_xlarge(instances: Sequence[Instance], timeout_s: float, *, with_head: bool = False) -> None:
        failing = [i.instance_id for i in instances if i.flavor == "c5.xlarge"]
        if failing:
            raise AnsibleError("site.yml failed", hosts=dict.fromkeys(failing, "no such package"))
        configure(instances, timeout_s, with_head=with_head)

    desk.cluster.configure = fails_on_xlarge  # type: ignore[method-assign]
    without_xlarge(desk)


def test_a_probe_that_loses_one_flavor_after_the_other_goes_on_with_the_last(desk: Desk) -> None:
    desk.cluster.max_running = {"c5.xlarge": 0}
    desk.cluster.mute = {"m5.large": "connection refused"}
    move = replace(PROBE, target=PROBED.with_count("m5.large", 1))
    ended = desk.run(move)
    assert (ended.phase, ended.target) == (MovePhase.DONE, REST)
    assert ended.left_out == Fleet({"c5.xlarge": 1, "m5.large": 1})
    assert desk.cluster.fleet == REST
    assert {*desk.unavailable} == {"c5.xlarge", "m5.large"}


def test_a_probe_of_which_nothing_can_be_had_is_undone(desk: Desk) -> None:
    desk.cluster.max_running = {"c5.large": 0, "c5.xlarge": 0}
    assert undone(desk, PROBE) == NotRunning(Fleet({"c5.large": 1, "c5.xlarge": 1}), LIMITS.boot_s)


def test_a_probe_that_lacks_more_nodes_of_a_flavor_that_it_does_not_measure_is_undone(desk: Desk) -> None:
    """They were to keep a deadline, so that another decision is needed without them."""
    desk.cluster.max_running = {"t2.large": 2}
    move = replace(PROBE, target=PROBED.with_count("t2.large", 4))
    assert undone(desk, move) == NotRunning(Fleet({"t2.large": 2}), LIMITS.boot_s)


def test_a_move_that_is_no_probe_is_undone_as_a_whole(desk: Desk) -> None:
    desk.cluster.max_running = {"c5.xlarge": 0}
    assert undone(desk, replace(PROBE, is_probe=False)) == NotRunning(Fleet({"c5.xlarge": 1}), LIMITS.boot_s)


def test_a_probe_whose_node_fails_after_it_joined_is_undone(desk: Desk) -> None:
    """Ranks that wait for it train in a world that it belongs to."""

    def fails(cluster: Cluster, instance: Instance, fact: Fact) -> Fact | None:
        return None if instance.flavor == "c5.xlarge" else fact

    desk.cluster.fact_of = fails
    assert isinstance(undone(desk, PROBE), DidNotJoin)


def test_a_probe_that_leaves_a_flavor_out_shrinks_as_it_was_to(desk: Desk) -> None:
    """Probes may take the places of nodes that are too many."""
    desk.cluster.max_running = {"c5.xlarge": 0}
    ended = desk.run(replace(PROBE, target=PROBED.with_count("t2.large", 1)))
    assert (ended.phase, desk.cluster.fleet) == (MovePhase.DONE, Fleet({"t2.large": 1, "c5.large": 1}))


def test_a_probe_that_goes_on_without_a_flavor_goes_on_after_a_kill_before_any_of_its_calls() -> None:
    for number in range(200):
        desk = Desk()
        desk.cluster.max_running = {"c5.xlarge": 0}
        kill_at(desk, number)
        try:
            ended = desk.run(PROBE)
        except KilledError:
            ended = desk.run(desk.saved[-1] if desk.saved else PROBE)
        else:
            assert number > 10
            return
        assert (ended.phase, ended.target) == (MovePhase.DONE, REST), f"killed before call {number}"
        assert desk.cluster.fleet == REST, f"killed before call {number}"
        assert {*OLD} <= {*desk.cluster.hosts}
    pytest.fail("the move made more calls than were tried")
