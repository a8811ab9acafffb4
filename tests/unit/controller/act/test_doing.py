"""Doing actions: each reaches the cluster with all that it says, and people are told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from controller.act.doing import Doer
from controller.act.reconcile.actions import (
    Action,
    Configure,
    LetGo,
    Reached,
    SetCapacity,
    SetHosts,
    StartTraining,
    StopTraining,
)
from controller.domain import Fleet, Instance
from controller.domain.errors import TerraformError
from tests.unit.controller.act.fleet_in_memory import Clock, Cluster

CONFIGURE_S = 40.0


@dataclass
class Desk:
    """A doer at its work on three nodes."""

    told: list[str] = field(default_factory=list)
    before: list[Action] = field(default_factory=list)
    configured: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = Clock()
        self.cluster = Cluster.training(Fleet({"a": 3}), self.clock)
        self.cluster.observe()
        self.cluster.calls.clear()
        self.cluster.configure = self.configure  # type: ignore[method-assign]
        self.doer = Doer(self.cluster, CONFIGURE_S, self.clock.now, self.told.append, self.before.append)

    def configure(self, instances: list[Instance], timeout_s: float, *, with_head: bool = False) -> None:
        self.clock.sleep(30)
        self.configured.append(([i.instance_id for i in instances], timeout_s, with_head))


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.parametrize(
    ("with_head", "told"), [(False, "preparing 2 nodes"), (True, "preparing 2 nodes and the head")]
)
def test_nodes_are_configured_within_the_time_with_or_without_the_head(desk: Desk, with_head: bool, told: str) -> None:
    desk.doer.do([Configure(("i-1", "i-3"), with_head=with_head)])
    assert desk.configured == [(["i-1", "i-3"], CONFIGURE_S, with_head)]
    assert desk.told[0] == told


def test_people_are_told_how_long_preparing_took_and_since_when_each_node_is_there(desk: Desk) -> None:
    now = desk.clock.now()
    launched = {"i-1": now - 12, "i-3": now - 15.4}
    workers = desk.cluster.last_workers()
    desk.cluster.seen = tuple(replace(each, launched_at=launched.get(each.instance_id)) for each in workers)
    desk.doer.do([Configure(("i-1", "i-3"), with_head=False)])
    assert desk.told[-1] == "2 x a prepared in 30 s; warm after launch: 42 to 45 s"


def test_what_changes_the_training_is_told(desk: Desk) -> None:
    desk.doer.do([SetHosts(("i-1",)), StartTraining(), StopTraining()])
    assert desk.told == ["the hosts file names 1 nodes", "starting the training", "stopping the training"]
    assert desk.cluster.calls == ["set_hosts", "start_training", "stop_training"]
    assert desk.cluster.hosts == ["i-1"]


def test_each_action_is_kept_before_it_is_done(desk: Desk) -> None:
    desk.cluster.errors["lift_protection"] = [TerraformError("no")]
    with pytest.raises(TerraformError):
        desk.doer.do([LetGo(("i-1",)), StopTraining()])
    assert desk.before == [LetGo(("i-1",))], "what comes after a failure is not begun"


def test_nothing_is_done_where_all_is_reached(desk: Desk) -> None:
    desk.doer.do([Reached()])
    assert (desk.cluster.calls, desk.told) == ([], [])


def test_where_terraform_fails_the_groups_are_emptied_only_if_everything_is_given_back(desk: Desk) -> None:
    desk.cluster.hosts.clear()
    desk.cluster.errors["set_capacity"] = [TerraformError("locked"), TerraformError("locked")]
    with pytest.raises(TerraformError):
        desk.doer.do([SetCapacity(Fleet({"a": 1}))])
    assert desk.cluster.calls == ["set_capacity"] and desk.told == []
    desk.doer.do([SetCapacity(Fleet({}))])
    assert desk.cluster.calls == ["set_capacity", "set_capacity", "empty_groups"]
    assert desk.told == ["Terraform did not give the workers back, so their groups are told to: locked"]
