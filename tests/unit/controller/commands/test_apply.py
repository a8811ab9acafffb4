"""`centavo apply --plan` and `apply --reviewed`: exactly what was reviewed is applied, or nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from controller.commands.apply import apply, apply_sealed
from controller.commands.review import review
from controller.commands.shared.judged_plan import admit
from controller.domain.errors import GuardError
from controller.review.plans.outline_differences import PlanDiffersError
from controller.review.plans.outline_file import OutlineError, write_outline
from controller.review.plans.plan_outline import ChangeOutline, PlanOutline
from controller.review.plans.reviewed_plan import SealError
from tests.unit.controller.commands.review_desk import Desk, desk, options

__all__ = ["desk"]


def test_exactly_what_was_reviewed_is_applied_and_only_once(desk: Desk) -> None:
    review(desk, options("review"))
    assert apply_sealed(desk, options("apply", "--plan", "latest")) == 0
    assert desk.fake.applied == [b"move"]
    with pytest.raises(SealError, match="was applied already"):
        apply_sealed(desk, options("apply", "--plan", "latest"))
    assert desk.fake.applied == [b"move"]


def test_a_refused_plan_is_not_applied(desk: Desk) -> None:
    desk.fake.name = "bucket"
    review(desk, options("review"))
    with pytest.raises(GuardError, match="destroy-storage") as error:
        apply_sealed(desk, options("apply", "--plan", "latest"))
    assert "--acknowledge destroy-storage --acknowledge change-iam" in error.value.next_step
    assert error.value.exit_code == 3 and desk.fake.applied == []


BOTH = ("--acknowledge", "change-iam", "--acknowledge", "destroy-storage")


def test_a_plan_is_applied_when_whoever_applies_it_acknowledges_its_dangers(desk: Desk) -> None:
    desk.fake.name = "bucket"
    review(desk, options("review", *BOTH))
    with pytest.raises(GuardError, match="destroy-storage"):
        apply_sealed(desk, options("apply", "--plan", "latest"))
    assert desk.fake.applied == []
    assert apply_sealed(desk, options("apply", "--plan", "latest", *BOTH)) == 0


def test_the_review_says_how_to_apply_with_the_same_acknowledgements(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.fake.name = "bucket"
    review(desk, options("review", *BOTH))
    (said,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("To apply exactly this:")]
    assert apply(desk, options(*said.partition("--env test ")[2].split())) == 0
    assert desk.fake.applied == [b"bucket"]


def test_nothing_can_be_acknowledged_without_a_reviewed_plan(desk: Desk) -> None:
    with pytest.raises(SealError, match="Only a plan that was reviewed"):
        apply(desk, options("apply", "--acknowledge", "change-iam"))


def reviewed_elsewhere(desk: Desk, tmp_path: Path, name: str = "move") -> str:
    """The outline that a pull request's run leaves: its plan files and seals stay where they were made."""
    desk.fake.name = name
    file = tmp_path / "artifact" / "outline.json"
    review(desk, options("review", *BOTH, "--outline", str(file)))
    shutil.rmtree(desk.environment.state_directory / "plans")
    return str(file)


def test_a_plan_that_was_reviewed_elsewhere_is_made_again_and_that_one_is_applied(desk: Desk, tmp_path: Path) -> None:
    outline = reviewed_elsewhere(desk, tmp_path)
    desk.fake.planned = 0
    assert apply(desk, options("apply", "--reviewed", outline)) == 0
    assert desk.fake.planned == 1 and desk.fake.applied == [b"move"]
    assert list(desk.environment.state_directory.glob("*.tfplan")) == []


def test_a_plan_that_drifted_is_refused_with_what_differs(desk: Desk, tmp_path: Path) -> None:
    outline = reviewed_elsewhere(desk, tmp_path)
    desk.fake.name = "flavor"
    with pytest.raises(PlanDiffersError, match=r"reviewed as .*, now ") as error:
        apply(desk, options("apply", "--reviewed", outline))
    assert error.value.exit_code == 20 and desk.fake.applied == []
    assert list(desk.environment.state_directory.glob("*.tfplan")) == []


def test_a_pull_request_that_alters_its_own_outline_applies_nothing_else(desk: Desk, tmp_path: Path) -> None:
    """It claims the fingerprint of the harmless plan, or leaves out what is dangerous: main's own plan decides."""
    outline = Path(reviewed_elsewhere(desk, tmp_path, "bucket"))
    document = json.loads(outline.read_text())
    document["changes"] = [change for change in document["changes"] if change["action"] != "replace"]
    outline.write_text(json.dumps(document))
    with pytest.raises(OutlineError, match="was altered"):
        apply(desk, options("apply", "--reviewed", str(outline), *BOTH))
    harmless = PlanOutline(tuple(ChangeOutline(**change) for change in document["changes"]), document["outputs"])
    write_outline(outline, "test", harmless)
    with pytest.raises(PlanDiffersError, match="now replace"):
        apply(desk, options("apply", "--reviewed", str(outline), *BOTH))
    assert desk.fake.applied == []


def test_what_a_pull_request_acknowledges_in_its_own_files_counts_for_nothing(desk: Desk, tmp_path: Path) -> None:
    outline = Path(reviewed_elsewhere(desk, tmp_path, "bucket"))
    with pytest.raises(GuardError, match="destroy-storage"):
        apply(desk, options("apply", "--reviewed", str(outline)))
    outline.write_text(json.dumps({**json.loads(outline.read_text()), "acknowledged": ["destroy-storage"]}))
    with pytest.raises(OutlineError, match="not the outline of a plan: acknowledged"):
        apply(desk, options("apply", "--reviewed", str(outline)))
    assert desk.fake.applied == []


def test_what_was_reviewed_elsewhere_is_applied_when_this_side_acknowledges_it(desk: Desk, tmp_path: Path) -> None:
    outline = reviewed_elsewhere(desk, tmp_path, "bucket")
    assert apply(desk, options("apply", "--reviewed", outline, *BOTH)) == 0
    assert desk.fake.applied == [b"bucket"]


def test_a_sealed_plan_and_one_from_elsewhere_are_not_asked_for_together() -> None:
    with pytest.raises(SystemExit):
        options("apply", "--plan", "latest", "--reviewed", "outline.json")


def test_a_state_that_has_moved_on_is_a_refusal(desk: Desk) -> None:
    review(desk, options("review"))
    desk.fake.serial += 1
    with pytest.raises(SealError, match="state has moved on"):
        apply_sealed(desk, options("apply", "--plan", "latest"))
    assert desk.fake.applied == []


def test_an_edited_capacity_file_is_a_refusal(desk: Desk) -> None:
    review(desk, options("review"))
    desk.environment.capacity_file.write_text('{"capacity": {"c5.large": 9}}')
    with pytest.raises(SealError, match="capacity file has changed"):
        apply_sealed(desk, options("apply", "--plan", "latest"))


def test_a_plan_that_is_too_old_is_a_refusal(desk: Desk) -> None:
    review(desk, options("review"))
    with pytest.raises(SealError, match="hours old"):
        apply_sealed(desk, options("apply", "--plan", "latest", "--max-plan-age", "0"))


def test_a_plain_apply_of_a_dangerous_plan_is_not_admitted(desk: Desk) -> None:
    desk.fake.name = "bucket"
    file = desk.environment.root / "p"
    file.write_text("bucket")
    with pytest.raises(GuardError, match="has to be acknowledged"):
        admit(desk, desk.fake.show(file))
    file.write_text("move")
    admit(desk, desk.fake.show(file))
