"""Who is in the hosts file while no controller lives, and that a living controller's file is never touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.warden.admitting.workers import hosts_wanted
from tests.unit.controller.warden.stand_ins import Pages, refused
from tests.unit.controller.warden.test_switches import House

HOSTS = "# run-1\n10.0.0.1:1\n10.0.0.2:1\n10.0.0.3:1\n"


class Addresses:
    """EC2, as far as it tells addresses. The instance `i-small-0` has 10.0.0.3."""

    def __init__(self) -> None:
        self.known = {"i-large-0": "10.0.0.1", "i-large-1": "10.0.0.2", "i-small-0": "10.0.0.3"}
        self.asked: list[list[str]] = []
        self.fails = False

    def get_paginator(self, operation: str) -> Any:
        assert operation == "describe_instances"
        return self

    def paginate(self, Filters: list[dict[str, Any]]) -> list[dict[str, Any]]:  # noqa: N803
        if self.fails:
            raise refused("UnauthorizedOperation")
        (ids,) = (one["Values"] for one in Filters)
        self.asked.append(ids)
        found = [{"InstanceId": one, "PrivateIpAddress": self.known[one]} for one in ids if one in self.known]
        return Pages({"Reservations": [{"Instances": found}]}).paginate()

    def stop_instances(self, InstanceIds: list[str]) -> None:  # noqa: N803
        raise AssertionError("nothing is stopped here")


class Night(House):
    """A head whose training goes on. One worker can be replaced."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.ec2: Any = Addresses()
        (root / "hosts").write_text(HOSTS)
        self.s3.lease(released=True)

    def replace_a_worker(self) -> None:
        self.groups.members["large"] = ["i-large-0", "i-large-2"]
        self.ec2.known["i-large-2"] = "10.0.0.9"

    @property
    def hosts(self) -> str:
        return (self.root / "hosts").read_text()


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


def test_a_replacement_is_let_in_and_the_lost_node_is_left_out(night: Night) -> None:
    warden = night.warden("head")
    warden.pass_once()
    assert night.hosts == HOSTS and night.ec2.asked == [["i-large-0", "i-large-1", "i-small-0"]]
    night.replace_a_worker()
    warden.pass_once()
    assert night.hosts == "# run-1\n10.0.0.1:1\n10.0.0.3:1\n10.0.0.9:1\n"
    assert night.ec2.asked[1:] == [["i-large-2"]], "an address is asked for once"
    assert night.said("no controller lives")


def test_a_lease_that_has_run_out_lets_in_too_unless_the_switch_fires(night: Night) -> None:
    night.s3.lease()
    night.replace_a_worker()
    warden = night.warden("head")
    night.at(800)
    warden.pass_once()
    assert night.hosts == HOSTS, "a controller lives"
    night.at(901)
    warden.pass_once()
    assert "10.0.0.9" in night.hosts, "it is seen run out, and the switch waits for longer"


@pytest.mark.parametrize(
    "lease",
    [
        {"released": False},
        {"released": True, "stage": "ended"},
        {"released": True, "stage": "ending"},
        {"released": True, "run": "run-2"},
        {"released": True, "run": None},
    ],
)
def test_nobody_is_let_in_where_a_controller_lives_or_the_run_is_over_or_another_one(
    night: Night, lease: dict[str, Any]
) -> None:
    night.s3.lease(**lease)
    night.replace_a_worker()
    night.warden("head").pass_once()
    assert night.hosts == HOSTS and night.ec2.asked == []


def test_nobody_is_let_in_where_the_training_was_stopped(night: Night) -> None:
    (night.root / "wanted" / "launcher").unlink()
    night.replace_a_worker()
    night.warden("head").pass_once()
    assert night.hosts == HOSTS


def test_a_controller_that_takes_the_lease_meanwhile_keeps_its_hosts_file(night: Night) -> None:
    night.replace_a_worker()
    warden, real = night.warden("head"), night.ec2.paginate

    def taken(Filters: list[dict[str, Any]]) -> Any:  # noqa: N803
        night.s3.lease(generation=2)
        return real(Filters)

    night.ec2.paginate = taken
    warden.pass_once()
    assert night.hosts == HOSTS


def test_nothing_changes_where_aws_does_not_tell_the_workers(night: Night) -> None:
    night.ec2.fails = True
    night.replace_a_worker()
    warden = night.warden("head")
    warden.pass_once()
    assert night.hosts == HOSTS and night.said("the hosts file stays as it is")
    night.ec2.fails = False
    warden.pass_once()
    assert "10.0.0.9" in night.hosts


def test_an_instance_that_starts_or_ends_is_not_in_service(night: Night) -> None:
    night.replace_a_worker()
    night.groups.outside = {"i-large-2"}
    night.warden("head").pass_once()
    assert night.hosts == "# run-1\n10.0.0.1:1\n10.0.0.3:1\n"


@pytest.mark.parametrize(
    ("hosts", "members", "wanted"),
    [
        ("# run-1\na:1\nb:1\n", ["b", "a"], None),
        ("# run-1\na:1\nb:1\n", [], None),
        ("# run-0\na:1\n", ["b"], None),
        ("", ["b"], None),
        ("# run-1\nb:1\na:1\n", ["a", "c"], "# run-1\na:1\nc:1\n"),
        ("# run-1\n", ["a"], "# run-1\na:1\n"),
    ],
)
def test_the_hosts_file_names_the_workers_in_service(hosts: str, members: list[str], wanted: str | None) -> None:
    assert hosts_wanted(hosts, "run-1", members) == wanted
