"""Applying capacity: file, plan, guard and apply, and what is left where one of them fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.act.apply import Applier
from controller.act.capacity import CapacityFile
from controller.domain import Fleet, Instance
from controller.domain.errors import CapacityFileError, GuardError, SupersededError, TerraformError
from controller.domain.reasons.plans import CapacityNotApplied, PlanRefused, TouchesResource, UndeclaredFlavor
from controller.observe.made import Made
from tests.unit.controller.harness import new_world
from tests.unit.controller.world import Node, WorldAws, WorldTerraform

NOW, WANTED = Fleet({"t2.medium": 2}), Fleet({"c5.large": 1})


class Site:
    """An environment that is up, with two nodes of t2.medium."""

    def __init__(self, root: Path) -> None:
        self.world = new_world(is_up=True, desired=dict(NOW))
        self.world.scale()
        self.world.advance(10.0)
        self.world.calls.clear()
        self.file = CapacityFile(root / "capacity.auto.tfvars.json")
        self.file.read()
        self.file.write(NOW)
        self.terraform = WorldTerraform(self.world, self.file.path)
        self.made = Made(self.terraform, "test")
        self.applier = Applier(self.file, self.made, self.terraform, WorldAws(self.world), root / "capacity.tfplan")

    @property
    def asked(self) -> Fleet:
        return CapacityFile(self.file.path).read()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_every_declared_flavor_is_written_out_planned_and_applied(site: Site) -> None:
    site.applier.set_capacity(WANTED)
    assert dict(site.asked) == {"c5.large": 1, "c5.xlarge": 0, "t2.medium": 0}
    assert site.world.desired == dict(site.asked)
    assert site.world.calls == ["plan", "apply"]


def test_nothing_is_planned_where_all_is_so_already(site: Site) -> None:
    site.applier.set_capacity(NOW)
    assert site.world.calls == ["desired"]


def test_a_file_that_was_written_and_not_applied_is_applied(site: Site) -> None:
    site.file.write(WANTED)
    site.applier.set_capacity(WANTED)
    assert site.world.fleet() == {"t2.medium": 2, "c5.large": 1}, "protected nodes stay"
    assert site.world.calls == ["desired", "plan", "apply"]


def test_a_plan_that_would_do_more_is_not_applied_and_the_file_is_put_back(site: Site) -> None:
    bucket = {"address": "aws_s3_bucket.this", "type": "aws_s3_bucket", "change": {"actions": ["delete"]}}
    site.terraform.extra_changes = [bucket]
    with pytest.raises(GuardError) as error:
        site.applier.set_capacity(WANTED)
    assert error.value.reason == PlanRefused((TouchesResource("aws_s3_bucket.this", "destroy"),))
    assert site.asked == NOW and site.world.calls == ["plan"]


def test_a_plan_that_fails_puts_the_file_back(site: Site) -> None:
    site.world.failures["plan"] = [TerraformError("locked")]
    with pytest.raises(TerraformError):
        site.applier.set_capacity(WANTED)
    assert site.asked == NOW


def test_an_apply_that_fails_leaves_the_file_for_a_part_of_it_may_have_been_done(site: Site) -> None:
    site.world.failures["apply"] = [TerraformError("no route")]
    with pytest.raises(TerraformError):
        site.applier.set_capacity(WANTED)
    assert site.asked == WANTED


def test_a_flavor_that_is_not_declared_is_refused_before_anything_is_written(site: Site) -> None:
    with pytest.raises(CapacityFileError) as error:
        site.applier.set_capacity(Fleet({"p9.huge": 1}))
    assert error.value.reason == UndeclaredFlavor(str(site.file.path), "p9.huge")
    assert site.asked == NOW and site.world.calls == []


def test_a_file_that_differs_from_the_groups_was_changed_and_not_applied(site: Site) -> None:
    site.applier.check_file_is_applied()
    site.file.write(WANTED)
    with pytest.raises(CapacityFileError) as error:
        site.applier.check_file_is_applied()
    assert error.value.reason == CapacityNotApplied(str(site.file.path), WANTED, NOW)


def test_protection_is_lifted_from_these_instances_alone_group_by_group(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    lifted: list[tuple[str, list[str], bool]] = []
    monkeypatch.setattr(
        WorldAws, "set_protection", lambda _, group, ids, *, protected: lifted.append((group, list(ids), protected))
    )
    leaving = [
        Instance("i-1", "t2.medium", "worker", "running", "10.0.0.1"),
        Instance("i-2", "c5.large", "worker", "running", "10.0.0.2"),
        Instance("i-3", "t2.medium", "worker", "running", "10.0.0.3"),
    ]
    site.applier.lift_protection(leaving)
    groups = {flavor: output.autoscaling_group for flavor, output in site.made.outputs.flavors.items()}
    assert lifted == [(groups["c5.large"], ["i-2"], False), (groups["t2.medium"], ["i-1", "i-3"], False)]


def test_all_groups_of_the_environment_are_emptied_and_no_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[str] = []
    monkeypatch.setattr(WorldAws, "empty", lambda _, groups: emptied.extend(groups))
    site.applier.empty_groups()
    assert sorted(emptied) == sorted(output.autoscaling_group for output in site.made.outputs.flavors.values())


def test_the_groups_can_be_emptied_without_terraform(site: Site) -> None:
    site.applier.lift_protection([instance(node) for node in site.world.nodes])
    site.applier.empty_groups()
    assert site.world.fleet() == {} and site.asked == Fleet({})
    assert "plan" not in site.world.calls


def instance(node: Node) -> Instance:
    """Returns a node of the world as EC2 tells of it."""
    return Instance(node.instance_id, node.flavor, "worker", "running", node.address)


def test_a_worker_is_ended_and_an_instance_rebooted_by_the_runs_writer_only(site: Site, tmp_path: Path) -> None:
    worker = site.world.nodes[0]
    instance = Instance(worker.instance_id, worker.flavor, "worker", "running")
    rebooted: list[str] = []
    site.world.reboot = lambda node: rebooted.append(node.instance_id)  # type: ignore[assignment, method-assign]
    site.applier.reboot(instance)
    site.applier.end_instance(instance)
    assert rebooted == [worker.instance_id]
    assert worker.instance_id not in [node.instance_id for node in site.world.nodes]
    site.world.calls.clear()
    superseded = SupersededError("taken over")

    def check() -> None:
        raise superseded

    aws = WorldAws(site.world)
    other = Applier(site.file, site.made, site.terraform, aws, tmp_path / "capacity.tfplan", check)
    for act in (other.reboot, other.end_instance):
        with pytest.raises(SupersededError):
            act(instance)
    assert site.world.calls == []
