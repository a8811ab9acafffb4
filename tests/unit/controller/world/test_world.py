"""The world is as cruel as EC2, and convicts a controller that does what must never be done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.act.reconcile import next_actions as reconciling
from controller.domain import Fleet
from controller.domain.errors import AwsError, TerraformError
from controller.domain.observed.nodes import WorkerState
from tests.faults.simulation.invariants import violations_of
from tests.faults.simulation.layer import planned_of
from tests.faults.simulation.scenarios import SCENARIOS
from tests.faults.simulation.trial import Trial
from tests.unit.controller.harness import new_world
from tests.unit.controller.world import InvariantError, KilledError, Manner, World, WorldAws, WorldTerraform


@pytest.fixture
def training() -> World:
    """Three c5.large that train."""
    world = new_world(desired={"c5.large": 3}, is_up=True)
    world.advance(10.0)
    for node in world.nodes:
        node.is_configured = True
    world.set_hosts([node.address for node in world.nodes])
    world.is_started = True
    world.advance(10.0)
    assert len(world.ranks()) == 3
    return world


def test_a_drained_worker_has_exited_and_comes_back_only_when_it_is_configured(training: World) -> None:
    first, *others = training.nodes
    training.set_hosts([node.address for node in others])
    training.advance(5.0)
    assert (first.service, first.is_rank) == (WorkerState.LEFT, False)
    training.set_hosts([node.address for node in training.nodes])
    training.advance(30.0)
    assert not first.is_rank
    first.is_configured = True
    training.advance(5.0)
    assert first.is_rank


def test_a_capacity_below_the_nodes_that_train_is_refused_although_all_are_protected(training: World) -> None:
    assert all(node.is_protected for node in training.nodes)
    with pytest.raises(InvariantError, match="lowered to 2 while 3"):
        training.set_desired({"c5.large": 2})


def test_a_hosts_file_without_a_holder_of_the_parameters_is_refused(training: World) -> None:
    with pytest.raises(InvariantError, match="none of those that know the parameters"):
        training.set_hosts(["127.20.1.99"])


def test_an_instance_is_protected_when_it_is_in_service_and_not_before() -> None:
    world = new_world(desired={"c5.large": 1}, is_up=True)
    world.scale()
    with pytest.raises(AwsError, match="not in InService"):
        WorldAws(world).set_protection("c-c5.large", ["i-0001"], protected=False)
    world.advance(10.0)
    world.set_desired({"c5.large": 0})
    world.advance(60.0)
    assert world.fleet() == {"c5.large": 1}, "the scale-in waits"
    WorldAws(world).set_protection("c-c5.large", ["i-0001"], protected=False)
    world.advance(1.0)
    assert world.fleet() == {}


def test_a_lost_node_is_replaced_and_costs_no_more_steps_than_a_commit(training: World) -> None:
    training.lose("i-0001")
    assert [node.instance_id for node in training.nodes] == ["i-0002", "i-0003", "i-0004"]
    assert [steps <= training.commit_steps for _, _, steps in training.incidents] == [True]


def test_after_all_ranks_are_lost_the_training_goes_on_from_its_last_checkpoint(training: World) -> None:
    training.advance(20.0)
    reached, stored = training.step, training.checkpoint
    training.reboot_head()
    training.advance(25.0)
    assert stored < reached and training.restarts == 1
    assert training.incidents[-1][2] == pytest.approx(reached - stored)


def test_a_kill_in_the_middle_of_an_apply_changes_one_group_and_leaves_the_lock(tmp_path: Path) -> None:
    world = new_world(is_up=True)
    file = tmp_path / "capacity.json"
    file.write_text('{"capacity": {"c5.large": 1, "c5.xlarge": 1, "t2.medium": 1}}')
    terraform = WorldTerraform(world, file)
    plan = terraform.plan(tmp_path / "plan")
    world.plots.append(lambda number, name: Manner.KILL_DURING)
    with pytest.raises(KilledError):
        terraform.apply(plan.file)
    assert sum(world.desired.values()) == 1 and world.state_lock is not None
    world.plots.clear()
    terraform.plan(tmp_path / "plan")
    world.state_lock = "of-somebody-else"
    with pytest.raises(TerraformError, match="acquiring the state lock"):
        terraform.plan(tmp_path / "plan")


def test_a_call_that_hangs_takes_the_edges_limit_and_fails(training: World) -> None:
    training.plots.append(lambda number, name: Manner.HANG_BEFORE)
    began = training.now
    with pytest.raises(AwsError):
        WorldAws(training).instances("c")
    assert training.now >= began + 40.0


def test_the_world_meters_what_runs() -> None:
    world = new_world(desired={"c5.large": 2}, is_up=True)
    world.scale()
    world.advance(3600.0)
    assert world.spent_usd == pytest.approx(2 * 0.085 + 0.0208)


def straight_to_the_target(goal: reconciling.Goal, seen: reconciling.Seen) -> tuple[reconciling.Action, ...]:
    """A mutant: the source is given up before the target trains."""
    if goal.target.size and goal.source.size and seen.capacity not in (None, goal.target):
        return (reconciling.SetCapacity(goal.target),)
    return real_actions(goal, seen)


real_actions: Callable[..., tuple[reconciling.Action, ...]] = reconciling.next_actions


def test_a_controller_that_grows_straight_to_the_target_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.act.mover.next_actions", straight_to_the_target, raising=False)
    found = Trial(SCENARIOS["disjoint"], ()).run(violations_of)
    assert any("was lowered to" in what for what in found)


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_a_run_without_faults_violates_nothing_and_ends_on_its_fleet(scenario: str) -> None:
    def judge(trial: Trial) -> tuple[tuple[str, ...], Fleet]:
        assert trial.report is not None
        return violations_of(trial), Fleet(trial.report["fleet"]["final"])

    assert Trial(SCENARIOS[scenario], ()).run(judge) == ((), Fleet(SCENARIOS[scenario].ends_on))


def test_two_controllers_of_which_one_is_refused_violate_nothing() -> None:
    def judge(trial: Trial) -> tuple[bool, tuple[str, ...], list[str]]:
        return trial.has_happened, violations_of(trial), [line for line in trial.told if "LockedError" in line]

    happened, found, refused = Trial(SCENARIOS["overlap"], [planned_of("overlap/growing/second-controller")]).run(judge)
    assert happened and found == () and refused
