"""The commands of the review, with a stand-in for Terraform: exit codes, sealed plans, refusals."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.cli import parser
from controller.commands.apply import apply_reviewed
from controller.commands.context import Context
from controller.commands.judged_plan import admit
from controller.commands.review import ReviewError, review
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain import Market, Price
from controller.domain.errors import GuardError, TerraformError
from controller.edges.clock import SystemClock
from controller.observe.prices.asked import Wanted
from controller.observe.prices.book import PriceBook
from controller.record.live.reporter import PlainReporter
from controller.review.reviewed_plan import SealError
from tests.unit.controller.harness import SETTINGS

FLAVORS = ("t2.medium", "t2.large", "t2.xlarge", "c5.large", "c5.xlarge", "c5.2xlarge")
GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "review"


@dataclass
class FakeTerraform:
    """Plans what a golden file says, and counts applies."""

    name: str = "move"
    serial: int = 4
    fails: bool = False
    applied: list[bytes] = field(default_factory=list)

    def init(self) -> None:
        if self.fails:
            raise TerraformError("terraform init failed", "Try again.")

    def plan(self, file: Path, **options: Any) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.name)

    def show(self, file: Path) -> Mapping[str, Any]:
        document: Mapping[str, Any] = json.loads((GOLDEN / f"{file.read_text()}.json").read_text(encoding="utf-8"))
        return document

    def state_id(self) -> tuple[str, int]:
        return "lineage", self.serial

    def apply(self, file: Path) -> None:
        self.applied.append(file.read_bytes())
        self.serial += 1


class Desk(Context):
    """A context whose Terraform is the stand-in."""

    fake: FakeTerraform

    def terraform(self, log_directory: Path | None = None) -> Any:
        return self.fake


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    environment = Environment("test", tmp_path, parse_settings(SETTINGS, tmp_path / "centavo.yml"))
    environment.directory.mkdir(parents=True)
    flavors = {
        "t2.medium": 0.05,
        "t2.large": 0.1,
        "t2.xlarge": 0.2,
        "c5.large": 0.1,
        "c5.xlarge": 0.2,
        "c5.2xlarge": 0.4,
    }
    prices = {flavor: Price(flavor, usd) for flavor, usd in {**flavors, "t3.micro": 0.01}.items()}
    made = Desk(environment, SystemClock(), PlainReporter())
    made.book = PriceBook(lambda wanted: prices)
    made.fake = FakeTerraform()
    return made


def options(*arguments: str) -> argparse.Namespace:
    return parser().parse_args(arguments)


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


def test_an_environment_that_was_never_applied_is_reviewed_with_the_fleet_it_starts_on(desk: Desk) -> None:
    assert not desk.environment.capacity_file.exists()
    review(desk, options("review"))
    assert json.loads(desk.environment.capacity_file.read_text())["capacity"] == SETTINGS["fleet"]["initial"]


def test_a_plain_apply_of_a_dangerous_plan_is_not_admitted(desk: Desk) -> None:
    desk.fake.name = "bucket"
    file = desk.environment.root / "p"
    file.write_text("bucket")
    with pytest.raises(GuardError, match="has to be acknowledged"):
        admit(desk, desk.fake.show(file))
    file.write_text("move")
    admit(desk, desk.fake.show(file))


def test_no_working_copy_of_a_plan_is_left_beside_the_sealed_one(desk: Desk) -> None:
    review(desk, options("review"))
    assert list(desk.environment.state_directory.glob("*.tfplan")) == []
