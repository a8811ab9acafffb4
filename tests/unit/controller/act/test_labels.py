"""The names of run and ranks on instances, volumes and groups: true after each pass, and free where nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from controller.act.labels import MOST_CALLS, Label, Labels, World, labels_due, world_of
from controller.domain import Fleet, Instance, Observation, TrainingState
from controller.domain.errors import AwsError, SupersededError
from tests.unit.controller.harness import Controller, new_world

VOLUMES = {f"vol-{number}" for number in range(100)}
"""Those that have the run already."""


def worker(number: int, *, run: str = "r", name: str = "") -> Instance:
    volumes = (f"vol-{number}",)
    return Instance(f"i-{number}", "c5.large", "worker", "running", volumes=volumes, run=run, rank_name=name)


def test_what_is_new_gets_its_run_in_one_call_with_its_volumes() -> None:
    fleet = [worker(1, run=""), worker(2, run="an earlier one"), worker(3)]
    due = labels_due(fleet, "r", World({}, 0), {"vol-3"})
    assert due == [Label(("i-1", "vol-1", "i-2", "vol-2"), {"centavo:run": "r"})]


def test_the_volumes_of_a_node_that_has_the_run_from_its_group_get_it_once_as_soon_as_they_are_shown() -> None:
    aws = Aws()
    labels = Labels(aws, made(), "r", lambda: None)
    labels.keep_true([replace(worker(1), volumes=())], observed(0))
    assert [call[0] for call in aws.calls] == ["groups"]
    aws.fails = True
    with pytest.raises(AwsError):
        labels.keep_true([worker(1)], observed(0))
    aws.fails = False
    for _ in range(2):
        labels.keep_true([worker(1), worker(2)], observed(0))
    assert aws.calls[2:] == [("label", ("vol-1", "vol-2"), {"centavo:run": "r"})]


def test_a_rank_is_named_on_instance_and_volume_and_nothing_is_written_twice() -> None:
    world = World({"i-1": 0, "i-2": 1}, 2)
    due = labels_due([worker(1), worker(2, name="centavo-r-1")], "r", world, VOLUMES)
    assert due == [Label(("i-1", "vol-1"), {"centavo:rank": "centavo-r-0", "Name": "centavo-r-0"})]
    assert labels_due([worker(1, name="centavo-r-0"), worker(2, name="centavo-r-1")], "r", world, VOLUMES) == []


def test_a_rank_that_has_moved_is_named_where_it_is_now_and_nowhere_else() -> None:
    due = labels_due([worker(1, name="centavo-r-0"), worker(2)], "r", World({"i-2": 0}, 1), VOLUMES)
    assert [(label.resources[0], label.tags["centavo:rank"]) for label in due] == [("i-1", ""), ("i-2", "centavo-r-0")]
    assert "Name" not in due[0].tags, "people may still look for it"


def test_a_node_whose_fact_could_not_be_read_keeps_its_label_while_the_world_has_room() -> None:
    silent = worker(2, name="centavo-r-1")
    assert labels_due([silent], "r", World({"i-1": 0}, 2), VOLUMES) == []
    assert labels_due([silent], "r", World({}, 0), VOLUMES) == []
    assert [label.tags for label in labels_due([silent], "r", World({"i-1": 0}, 1), VOLUMES)] == [{"centavo:rank": ""}]


def test_the_world_has_the_ranks_that_train_and_the_largest_size_that_one_of_them_says() -> None:
    first, second = observed(2).facts
    starting = SimpleNamespace(instance_id="i-9", rank=9, world_size=9, state=TrainingState.STARTING)
    strange = SimpleNamespace(instance_id="i-2", rank=None, world_size=None, state=TrainingState.TRAINING)
    for facts, world in [
        ([], World({}, 0)),
        ([starting], World({}, 0)),
        ([strange], World({}, 0)),
        ([first, second, starting, strange], World({"i-0": 0, "i-1": 1}, 2)),
    ]:
        found = world_of(cast(Observation, SimpleNamespace(facts=facts)))
        assert (found.ranks, found.size) == (world.ranks, world.size)


def test_a_label_of_an_earlier_run_is_taken_away() -> None:
    due = labels_due([worker(1, name="centavo-old-1")], "r", World({"i-2": 0}, 2), VOLUMES)
    assert [label.tags for label in due] == [{"centavo:rank": ""}]


class Aws:
    def __init__(self) -> None:
        self.calls: list[tuple[str, Any, dict[str, str]]] = []
        self.fails = False

    def label(self, resources: Sequence[str], tags: Mapping[str, str]) -> None:
        self.calls.append(("label", tuple(resources), dict(tags)))
        if self.fails:
            raise AwsError("no")

    def label_groups(self, groups: Iterable[str], tags: Mapping[str, str]) -> None:
        self.calls.append(("groups", tuple(groups), dict(tags)))


def made() -> Any:
    return SimpleNamespace(outputs=SimpleNamespace(flavors={"c5.large": SimpleNamespace(autoscaling_group="g")}))


def observed(size: int) -> Any:
    facts = [
        SimpleNamespace(instance_id=f"i-{n}", rank=n, world_size=size, state=TrainingState.TRAINING)
        for n in range(size)
    ]
    return SimpleNamespace(facts=facts)


def test_a_large_fleet_is_labelled_over_several_passes_and_the_groups_once() -> None:
    aws = Aws()
    labels = Labels(aws, made(), "r", lambda: None)
    fleet = [worker(n) for n in range(MOST_CALLS + 5)]
    labels.keep_true(fleet, observed(0))  # labels the volumes
    assert [call[0] for call in aws.calls] == ["groups", "label"]
    labels.keep_true(fleet, observed(len(fleet)))
    assert [call[0] for call in aws.calls[2:]] == ["label"] * MOST_CALLS
    done = {call[1][0]: call[2]["centavo:rank"] for call in aws.calls[2:]}
    aws.calls.clear()
    labels.keep_true([worker(n, name=done.get(f"i-{n}", "")) for n in range(len(fleet))], observed(len(fleet)))
    assert len(aws.calls) == 5


def test_a_controller_that_was_superseded_labels_nothing() -> None:
    def superseded() -> None:
        raise SupersededError("somebody else")

    aws = Aws()
    with pytest.raises(SupersededError):
        Labels(aws, made(), "r", superseded).keep_true([worker(1)], observed(1))
    assert aws.calls == []


def test_a_run_labels_its_fleet_and_goes_on_where_that_fails(tmp_path: Path) -> None:
    world = new_world(is_up=True, desired=dict(Fleet({"c5.large": 2})))
    world.scale()
    world.advance(10.0)
    cluster = Controller(world, tmp_path).cluster
    observation = cluster.observe()
    cluster.keep_labels(observation)
    assert {one.run for one in cluster.workers()} == {cluster._journal.info().run}
