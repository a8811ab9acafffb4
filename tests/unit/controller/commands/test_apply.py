"""`centavo apply --plan`: exactly what was reviewed is applied, or nothing."""

from __future__ import annotations

import pytest

from controller.commands.apply import apply_reviewed
from controller.commands.review import review
from controller.commands.shared.judged_plan import admit
from controller.domain.errors import GuardError
from controller.review.plans.reviewed_plan import SealError
from tests.unit.controller.commands.review_desk import Desk, desk, options

__all__ = ["desk"]


def test_exactly_what_was_reviewed_is_applied_and_only_once(desk: Desk) -> None:
    review(desk, options("review"))
    assert apply_reviewed(desk, options("apply", "--plan", "latest")) == 0
    assert desk.fake.applied == [b"move"]
    with pytest.raises(SealError, match="was applied already"):
        apply_reviewed(desk, options("apply", "--plan", "latest"))
    assert desk.fake.applied == [b"move"]


def test_a_refused_plan_is_not_applied(desk: Desk) -> None:
    desk.fake.name = "bucket"
    review(desk, options("review"))
    with pytest.raises(GuardError, match="destroy-storage") as error:
        apply_reviewed(desk, options("apply", "--plan", "latest"))
    assert "--acknowledge destroy-storage --acknowledge change-iam" in error.value.next_step
    assert error.value.exit_code == 3 and desk.fake.applied == []


def test_an_acknowledged_plan_is_applied(desk: Desk) -> None:
    desk.fake.name = "bucket"
    review(desk, options("review", "--acknowledge", "change-iam", "--acknowledge", "destroy-storage"))
    assert apply_reviewed(desk, options("apply", "--plan", "latest")) == 0


def test_a_state_that_has_moved_on_is_a_refusal(desk: Desk) -> None:
    review(desk, options("review"))
    desk.fake.serial += 1
    with pytest.raises(SealError, match="state has moved on"):
        apply_reviewed(desk, options("apply", "--plan", "latest"))
    assert desk.fake.applied == []


def test_an_edited_capacity_file_is_a_refusal(desk: Desk) -> None:
    review(desk, options("review"))
    desk.environment.capacity_file.write_text('{"capacity": {"c5.large": 9}}')
    with pytest.raises(SealError, match="capacity file has changed"):
        apply_reviewed(desk, options("apply", "--plan", "latest"))


def test_a_plan_that_is_too_old_is_a_refusal(desk: Desk) -> None:
    review(desk, options("review"))
    with pytest.raises(SealError, match="hours old"):
        apply_reviewed(desk, options("apply", "--plan", "latest", "--max-plan-age", "0"))


def test_a_plain_apply_of_a_dangerous_plan_is_not_admitted(desk: Desk) -> None:
    desk.fake.name = "bucket"
    file = desk.environment.root / "p"
    file.write_text("bucket")
    with pytest.raises(GuardError, match="has to be acknowledged"):
        admit(desk, desk.fake.show(file))
    file.write_text("move")
    admit(desk, desk.fake.show(file))
