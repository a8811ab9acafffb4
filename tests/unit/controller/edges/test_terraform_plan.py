"""Reading a plan's JSON: order, masks, capacities, and plans that can't be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.domain import Fleet
from controller.edges.terraform_plan import Action, Marker, PlanError, parse_plan

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "review"


def document(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format_version": "1.2", "resource_changes": list(resources), **more}


def resource(address: str, actions: list[str], before: Any = None, after: Any = None, **change: Any) -> dict[str, Any]:
    return {
        "address": address,
        "type": address.split(".")[0],
        "name": "x",
        "mode": "managed",
        "change": {"actions": actions, "before": before, "after": after, **change},
    }


def golden(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def test_dangerous_changes_come_first() -> None:
    plan = parse_plan(
        document(
            resource("aws_a.x", ["create"], None, {}),
            resource("aws_b.x", ["update"], {"n": 1}, {"n": 2}),
            resource("aws_c.x", ["delete", "create"], {}, {}),
            resource("aws_d.x", ["delete"], {}),
            resource("aws_e.x", ["forget"], {}),
            resource("aws_f.x", ["no-op"], {}, {}),
        )
    )
    assert [change.action for change in plan.changed] == [
        Action.DESTROY,
        Action.REPLACE,
        Action.FORGET,
        Action.UPDATE,
        Action.CREATE,
    ]


def test_a_real_move_has_its_fleets_before_and_after() -> None:
    plan = parse_plan(golden("move"))
    assert plan.fleet_before == Fleet(
        {**dict.fromkeys(["t2.medium", "t2.large", "t2.xlarge"], 1), "c5.large": 1, "c5.xlarge": 1, "c5.2xlarge": 1}
    )
    assert plan.fleet_after == Fleet({"t2.medium": 1, "c5.large": 1, "c5.xlarge": 4})
    assert plan.head_type(after=True) == "t3.micro"
    assert {a.path for change in plan.changed for a in change.attributes()} == {"desired_capacity"}


def test_a_new_flavor_was_not_there_before() -> None:
    plan = parse_plan(golden("flavor"))
    assert "c6i.xlarge" not in plan.fleet_before and plan.fleet_after.count("c6i.xlarge") == 2


def test_a_plan_that_changes_nothing_is_empty() -> None:
    assert parse_plan(golden("nothing")).is_empty
    assert not parse_plan(golden("move")).is_empty


@pytest.mark.parametrize(
    "more",
    [
        {"output_changes": {"o": {"actions": ["update"]}}},
        {"resource_changes": [{**resource("aws_a.x", ["no-op"], {}, {}), "previous_address": "aws_a.y"}]},
        {"resource_changes": [resource("aws_a.x", ["no-op"], {}, {}, importing={"id": "i"})]},
    ],
)
def test_outputs_moves_in_the_state_and_imports_are_changes(more: dict[str, Any]) -> None:
    assert not parse_plan(document(**more)).is_empty


def test_reading_a_data_source_is_no_change() -> None:
    data = {**resource("aws_ami.x", ["read"], None, {}), "mode": "data"}
    assert parse_plan(document(data)).is_empty


def test_marks_stand_for_what_is_sensitive_or_unknown() -> None:
    (change,) = parse_plan(
        document(
            resource(
                "aws_a.x",
                ["update"],
                {"secret": "s", "list": [{"key": "k"}]},
                {"secret": "t", "list": [{"key": "k"}]},
                after_sensitive={"secret": True, "list": [{"key": True}]},
                after_unknown={"id": True},
            )
        )
    ).changes
    assert change.before == {"secret": Marker.SENSITIVE, "list": [{"key": Marker.SENSITIVE}]}
    assert change.after == {
        "secret": Marker.SENSITIVE_CHANGED,
        "list": [{"key": Marker.SENSITIVE}],
        "id": Marker.UNKNOWN,
    }


def test_null_and_empty_are_the_same() -> None:
    (change,) = parse_plan(
        document(
            resource(
                "aws_a.x", ["update"], {"a": None, "b": [], "c": [{"d": None}]}, {"a": "", "c": [{"d": ""}], "n": 1}
            )
        )
    ).changes
    assert change.changed_keys() == ("n",)


def test_the_attribute_that_forces_a_replacement_is_marked() -> None:
    bucket = next(c for c in parse_plan(golden("bucket")).changed if c.type == "aws_s3_bucket")
    assert [a.path for a in bucket.telling_attributes() if a.forces_replacement] == ["bucket_prefix"]
    assert len(bucket.telling_attributes()) < len(bucket.attributes())


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "not the JSON of a Terraform plan"),
        ([], "not the JSON of a Terraform plan"),
        ({"format_version": "2.0"}, "format is 2.0"),
        (document(errored=True), "could not finish"),
        (document(resource("aws_a.x", ["explode"])), "aws_a.x that is not known"),
    ],
)
def test_a_plan_that_can_not_be_used_says_why(raw: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        parse_plan(raw)


@pytest.mark.parametrize(
    ("after", "zones"),
    [
        ({"worker_zones": ["a", "b", "c"]}, 3),
        ({"worker_zones": ["a"]}, 1),
        ({"nat_gateways": 1}, 1),
        (None, 1),
    ],
)
def test_the_output_of_the_network_tells_over_how_many_zones_workers_spread(after: Any, zones: int) -> None:
    plan = parse_plan(document(output_changes={"network": {"actions": ["no-op"], "after": after}}))
    assert plan.worker_zones == zones
    assert parse_plan(document()).worker_zones == 1
