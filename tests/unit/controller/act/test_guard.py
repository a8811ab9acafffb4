"""The guard: which plans of the controller may be applied."""

from __future__ import annotations

from typing import Any

import pytest

from controller.act.guard import Allowance, check, violations
from controller.domain import Fleet
from controller.domain.errors import GuardError
from controller.domain.reasons import Reason
from controller.domain.reasons.plans import (
    AboveMaximum,
    ChangesAttributes,
    ForeignGroup,
    OtherCapacity,
    PlanErrored,
    PlanRefused,
    TouchesGroup,
    TouchesResource,
)
from controller.record.journal.codec import to_json
from controller.record.journal.reasons import reason_from_text
from controller.words.reasons import reason_in_words

ALLOWANCE = Allowance(
    Fleet({"c5.large": 3, "t2.medium": 0}),
    {"c-c5.large": "c5.large", "c-t2.medium": "t2.medium"},
    {"c5.large": 12, "t2.medium": 12},
)


def group(actions: list[str] | None = None, **after: Any) -> dict[str, Any]:
    before = {"name": "c-c5.large", "desired_capacity": 1, "max_size": 12, "tag": [{"key": "a"}]}
    return {
        "address": "g",
        "type": "aws_autoscaling_group",
        "mode": "managed",
        "change": {
            "actions": actions or ["update"],
            "before": before,
            "after": {**before, "desired_capacity": 3, **after},
            "after_unknown": {"tag": [{}]},
        },
    }


def resource(kind: str, actions: list[str]) -> dict[str, Any]:
    return {
        "address": f"{kind}.x",
        "type": kind,
        "mode": "managed",
        "change": {"actions": actions, "before": {}, "after": {}},
    }


def test_a_desired_capacity_that_was_decided_may_be_applied() -> None:
    check(
        {
            "resource_changes": [
                group(),
                resource("aws_s3_bucket", ["no-op"]),
                {**resource("aws_ami", ["read"]), "mode": "data"},
            ]
        },
        ALLOWANCE,
    )


def test_an_unset_attribute_that_the_provider_plans_as_empty_is_no_change() -> None:
    block = "capacity_reservation_specification"
    change = group(**{block: [{"preference": "", "target": []}]})
    change["change"]["before"][block] = [{"preference": None, "target": []}]
    check({"resource_changes": [change]}, ALLOWANCE)
    change["change"]["after"][block] = [{"preference": "none", "target": []}]
    assert violations({"resource_changes": [change]}, ALLOWANCE) == [ChangesAttributes("g", (block,))]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (resource("aws_s3_bucket", ["delete"]), TouchesResource("aws_s3_bucket.x", "destroy")),
        (resource("aws_iam_role", ["update"]), TouchesResource("aws_iam_role.x", "update")),
        (resource("aws_instance", ["delete", "create"]), TouchesResource("aws_instance.x", "replace")),
        (resource("aws_vpc", ["forget"]), TouchesResource("aws_vpc.x", "forget")),
        (resource("aws_vpc", []), TouchesResource("aws_vpc.x", "unknown")),
        (group(["delete"]), TouchesGroup("g", "destroy")),
        (group(["create"]), TouchesGroup("g", "create")),
        (group(max_size=100), ChangesAttributes("g", ("max_size",))),
        (group(tag=[]), ChangesAttributes("g", ("tag",))),
        (group(desired_capacity=4), OtherCapacity("g", 4, 3)),
        (group(name="other"), ChangesAttributes("g", ("name",))),
        (
            {**group(), "change": {**group()["change"], "after_unknown": {"arn": True}}},
            ChangesAttributes("g", ("arn",)),
        ),
    ],
)
def test_anything_else_is_refused_with_what_it_would_do(change: dict[str, Any], finding: Reason) -> None:
    with pytest.raises(GuardError, match="was not applied") as error:
        check({"resource_changes": [change]}, ALLOWANCE)
    assert error.value.reason == PlanRefused((finding,))
    assert reason_in_words(finding) in error.value.what


@pytest.mark.parametrize("is_unknown", [True, False])
def test_a_capacity_that_the_plan_does_not_know_is_refused_for_a_reason_that_can_be_kept(is_unknown: bool) -> None:
    change = group(desired_capacity=None)
    if is_unknown:
        change["change"]["after_unknown"] = {"desired_capacity": True}
    found = violations({"resource_changes": [change]}, ALLOWANCE)
    assert found == [OtherCapacity("g", None, 3)]
    assert reason_from_text(to_json(PlanRefused(tuple(found)))) == PlanRefused(tuple(found))


def test_a_group_of_another_cluster_is_refused() -> None:
    foreign = group()
    foreign["change"]["before"]["name"] = foreign["change"]["after"]["name"] = "someone-elses"
    assert violations({"resource_changes": [foreign]}, ALLOWANCE) == [ForeignGroup("g")]


def test_more_nodes_than_terraform_allows_are_refused() -> None:
    allowance = Allowance(Fleet({"c5.large": 3}), ALLOWANCE.group_flavors, {"c5.large": 2})
    assert violations({"resource_changes": [group()]}, allowance) == [AboveMaximum("g", 3, 2)]


def test_as_many_nodes_as_terraform_allows_may_be_asked_for() -> None:
    allowance = Allowance(Fleet({"c5.large": 3}), ALLOWANCE.group_flavors, {"c5.large": 3})
    assert violations({"resource_changes": [group()]}, allowance) == []


def test_a_flavor_without_a_known_maximum_may_have_no_node() -> None:
    allowance = Allowance(Fleet({"c5.large": 1}), ALLOWANCE.group_flavors, {})
    change = group(desired_capacity=1)
    change["change"]["before"]["desired_capacity"] = 0
    assert violations({"resource_changes": [change]}, allowance) == [AboveMaximum("g", 1, 0)]


def test_everything_that_is_wrong_is_told_each_in_a_line() -> None:
    plan = {"errored": True, "resource_changes": [resource("aws_vpc", ["update"]), group(["delete"])]}
    found = [PlanErrored(), TouchesResource("aws_vpc.x", "update"), TouchesGroup("g", "destroy")]
    assert violations(plan, ALLOWANCE) == found
    with pytest.raises(GuardError) as error:
        check(plan, ALLOWANCE)
    assert error.value.what.splitlines()[1:] == [f"  {reason_in_words(finding)}" for finding in found]
    assert "centavo plan" in error.value.next_step and error.value.reason == PlanRefused(tuple(found))


def test_an_import_is_not_harmless() -> None:
    imported = resource("aws_vpc", ["no-op"])
    imported["change"]["importing"] = {"id": "vpc-1"}
    assert violations({"resource_changes": [imported]}, ALLOWANCE)


def test_a_plan_that_ended_in_an_error_is_refused() -> None:
    assert violations({"errored": True}, ALLOWANCE) == [PlanErrored()]
