"""The commands of the review, with a stand-in for Terraform: exit codes, sealed plans, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.commands.review import ReviewError, review
from controller.domain import Market, Price
from controller.observe.prices.asked import Wanted
from controller.observe.prices.book import PriceBook
from controller.review.plans.outline_differences import PlanDiffersError
from tests.unit.controller.commands.review_desk import Desk, desk, options
from tests.unit.controller.harness import SETTINGS

__all__ = ["desk"]

FLAVORS = ("t2.medium", "t2.large", "t2.xlarge", "c5.large", "c5.xlarge", "c5.2xlarge")


@pytest.mark.parametrize("command", ["review", "plan"])
@pytest.mark.parametrize(("name", "code"), [("nothing", 0), ("move", 2), ("bucket", 3)])
def test_the_exit_code_tells_a_pipeline_what_to_do(desk: Desk, command: str, name: str, code: int) -> None:
    desk.fake.name = name
    given = options(command)
    assert given.command is review
    assert review(desk, given) == code


def test_an_error_is_exit_code_1_whatever_failed(desk: Desk) -> None:
    desk.fake.fails = True
    with pytest.raises(ReviewError, match="terraform init failed") as error:
        review(desk, options("review"))
    assert error.value.exit_code == 1 and error.value.next_step == "Try again."


@pytest.mark.parametrize("wrong", [["--acknowledge", "everything"], ["--no-such-option"], ["--markdown"]])
def test_wrong_usage_is_an_error_and_not_a_change(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        options("review", *wrong)
    assert ended.value.code == 1


def test_an_acknowledged_danger_is_a_change_like_any_other(desk: Desk) -> None:
    desk.fake.name = "bucket"
    one, both = ["--acknowledge", "change-iam"], ["--acknowledge", "change-iam", "--acknowledge", "destroy-storage"]
    assert review(desk, options("review", *one)) == 3
    assert review(desk, options("review", *both)) == 2


def test_the_review_is_written_where_a_pipeline_wants_it(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "out" / "plan.md"
    review(desk, options("review", "--markdown", str(file)))
    assert file.read_text().startswith("<!-- centavo:review environment=test -->")


def test_the_terminal_shows_costs_flavors_resources_and_how_to_apply(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    review(desk, options("review"))
    shown = capsys.readouterr().out
    order = [
        "dollars per million tokens",
        "dollars per hour",
        "1 → 4",
        "aws_autoscaling_group",
        "The guard allows it",
        "centavo --env test apply --plan",
    ]
    positions = [shown.index(part) for part in order]
    assert positions == sorted(positions)
    assert "not measured yet" in shown


def test_the_review_prices_each_flavor_as_its_group_buys_it_and_says_where_that_comes_from(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Wanted] = []

    def prices(wanted: Wanted) -> dict[str, Price]:
        asked.append(wanted)
        listed = {flavor: Price(flavor, 0.1, "AWS pricing API") for flavor in (*FLAVORS, "t3.micro")}
        return listed | {"c5.large": Price("c5.large", 0.03, "AWS spot price history")}

    desk.book = PriceBook(prices)
    monkeypatch.setattr(desk.fake, "show", with_spot(desk.fake.show, "c5.large"))
    review(desk, options("review"))
    assert asked[-1].markets == {f: Market.SPOT if f == "c5.large" else Market.ON_DEMAND for f in FLAVORS}
    assert asked[-1].heads == {"t3.micro"}
    shown = capsys.readouterr().out
    assert "AWS spot price history" in shown and "AWS pricing API" in shown


def with_spot(show: Callable[[Path], Mapping[str, Any]], flavor: str) -> Callable[[Path], Mapping[str, Any]]:
    """The plan with the group of one flavor buying on spot."""

    def shown(file: Path) -> Mapping[str, Any]:
        document = show(file)
        for change in document["resource_changes"]:
            if change["type"] == "aws_autoscaling_group" and flavor in change["address"]:
                change["change"]["after"]["mixed_instances_policy"] = [{"instances_distribution": [{}]}]
        return document

    return shown


def test_an_environment_that_was_never_applied_is_reviewed_with_the_fleet_it_starts_on(desk: Desk) -> None:
    assert not desk.environment.capacity_file.exists()
    review(desk, options("review"))
    assert json.loads(desk.environment.capacity_file.read_text())["capacity"] == SETTINGS["fleet"]["initial"]


def test_no_working_copy_of_a_plan_is_left_beside_the_sealed_one(desk: Desk) -> None:
    review(desk, options("review"))
    assert list(desk.environment.state_directory.glob("*.tfplan")) == []


def test_a_review_that_expects_a_plan_fails_for_another_one_and_shows_it(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outline, markdown = tmp_path / "outline.json", tmp_path / "plan.md"
    assert review(desk, options("review", "--outline", str(outline))) == 2
    assert review(desk, options("review", "--reviewed", str(outline))) == 2
    desk.fake.name = "flavor"
    with pytest.raises(PlanDiffersError) as error:
        review(desk, options("review", "--reviewed", str(outline), "--markdown", str(markdown)))
    assert error.value.exit_code == 20
    assert markdown.read_text().startswith("<!-- centavo:review") and "aws_launch_template" in capsys.readouterr().out


def test_a_review_that_expects_what_is_no_outline_is_an_error(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "outline.json").write_text("{}")
    with pytest.raises(ReviewError, match="not the outline of a plan"):
        review(desk, options("review", "--reviewed", str(tmp_path / "outline.json")))
