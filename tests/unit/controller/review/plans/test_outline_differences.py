"""What differs between the reviewed plan and the plan that was made now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.edges.terraform_plan import parse_plan
from controller.review.plans.outline_differences import PlanDiffersError, differences, require_same
from controller.review.plans.plan_outline import ChangeOutline, PlanOutline, outline_of
from tests.unit.controller.review.plans.test_plan_outline import golden

A, B = "a" * 64, "b" * 64


def change(address: str = "aws_a.x", action: str = "update", **more: str) -> ChangeOutline:
    return ChangeOutline(address, action, more.get("previous"), False, more.get("sha256", A), {"size": A, "name": A})


def told(reviewed: PlanOutline, planned: PlanOutline) -> list[str]:
    return [str(difference) for difference in differences(reviewed, planned)]


def plan(*changes: ChangeOutline, **outputs: str) -> PlanOutline:
    return PlanOutline(changes, outputs)


def test_the_same_plan_made_again_is_accepted() -> None:
    first, second = (outline_of(parse_plan(golden("bucket"))) for _ in range(2))
    require_same(first, second)
    assert told(first, second) == []


def test_every_kind_of_difference_is_named() -> None:
    other = replace(change(sha256=B), attributes={"size": B, "name": A, "tags.x": A})
    assert told(plan(change()), plan()) == ["aws_a.x: reviewed as update, now unchanged"]
    assert told(plan(), plan(change(action="destroy"))) == ["aws_a.x: reviewed as unchanged, now destroy"]
    assert told(plan(change()), plan(change(action="replace"))) == ["aws_a.x: reviewed as update, now replace"]
    assert told(plan(change()), plan(other)) == ["aws_a.x: update, with another change of size, tags.x"]
    assert told(plan(change()), plan(change(sha256=B))) == ["aws_a.x: other attributes have changed"]
    assert told(plan(change()), plan(change(previous="aws_a.old"))) == [
        "aws_a.x: reviewed as update, now update (was aws_a.old)"
    ]
    assert told(plan(change()), plan(replace(change(), is_import=True))) == [
        "aws_a.x: reviewed as update, now update (imported)"
    ]
    assert told(plan(bucket="create"), plan(region="update")) == [
        "output bucket: reviewed as create, now unchanged",
        "output region: reviewed as unchanged, now update",
    ]


def test_a_second_object_at_the_same_address_is_not_overlooked() -> None:
    deposed = change(action="destroy", sha256=B)
    assert told(plan(change()), plan(change(), deposed)) == [
        "aws_a.x (another object): reviewed as unchanged, now destroy"
    ]


def test_another_plan_is_refused_with_an_exit_code_of_its_own_and_with_what_differs() -> None:
    with pytest.raises(PlanDiffersError) as error:
        require_same(plan(change()), plan(change(action="destroy"), change("aws_b.y", "create")))
    assert error.value.exit_code == 20
    assert "so nothing was applied" in error.value.what
    assert (
        "  - aws_a.x: reviewed as update, now destroy\n  - aws_b.y: reviewed as unchanged, now create"
        in error.value.what
    )
    assert "Review the new plan" in error.value.next_step
