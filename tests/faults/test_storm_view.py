"""What the storm concludes from what it sees."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.faults.storm_view import Meter, View


def instance(ip: str, group: str | None = "g", flavor: str = "c5.large", state: str = "running") -> dict[str, Any]:
    return {"ip": ip, "group": group, "flavor": flavor, "state": state}


RANK = {"state": "training", "world_size": 2, "step": 7}
AT_REST = View(
    at=1000.0,
    instances={"i-1": instance("a"), "i-2": instance("b"), "i-head": instance("h", None, "t3.micro")},
    desired=2,
    ranks={"i-1": RANK, "i-2": {**RANK, "step": 9}},
    hosts=frozenset({"a", "b"}),
    values={"stage": "training", "members": json.dumps(["i-1", "i-2"])},
    phases=("done",),
    capacity=2,
)


def test_at_rest_nothing_disagrees() -> None:
    assert AT_REST.disagreements() == []
    assert (AT_REST.head, AT_REST.workers, AT_REST.step) == ("i-head", {"i-1", "i-2"}, 9)
    assert AT_REST.whole(2) and not AT_REST.whole(3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"values": {"members": json.dumps(["i-1"])}}, "the journal names 1 members, 2 workers run"),
        ({"hosts": frozenset({"a"})}, "the hosts file names 1 nodes, the journal 2"),
        ({"hosts": None}, "the hosts file names 0 nodes, the journal 2"),
        ({"desired": 3}, "groups: 3, capacity file: 2, workers: 2"),
        ({"capacity": 3}, "groups: 2, capacity file: 3, workers: 2"),
        ({"ranks": {"i-1": RANK}}, "1 ranks train on 2 workers"),
    ],
)
def test_whatever_says_something_else_is_named(changes: dict[str, Any], said: str) -> None:
    assert said in replace(AT_REST, **changes).disagreements()


@pytest.mark.parametrize(("phase", "is_moving"), [("growing", True), ("shrinking", True), ("rolled_back", False)])
def test_a_move_is_under_way_until_its_last_phase(phase: str, is_moving: bool) -> None:
    view = replace(AT_REST, phases=("done", phase))
    assert (view.is_moving, view.whole(2)) == (is_moving, not is_moving)


def test_ranks_in_two_worlds_are_not_whole() -> None:
    assert not replace(AT_REST, ranks={"i-1": RANK, "i-2": {**RANK, "world_size": 1}}).whole(2)


def test_the_meter_counts_what_ran_between_two_looks_and_not_what_boots() -> None:
    meter = Meter({"c5.large": 3.6, "t3.micro": 0.36})
    booting = {**AT_REST.instances, "i-3": instance("c", state="pending")}
    meter.take(replace(AT_REST, instances=booting))
    assert meter.usd == 0
    meter.take(replace(AT_REST, at=1010.0, instances={}))
    assert meter.usd == pytest.approx((3.6 * 2 + 0.36) * 10 / 3600)
    meter.take(replace(AT_REST, at=1020.0))
    assert meter.usd == pytest.approx((3.6 * 2 + 0.36) * 10 / 3600)
