"""A context whose Terraform is a stand-in that plans what the golden files say."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.cli import parser
from controller.commands.context import Context
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain import Price
from controller.domain.errors import TerraformError
from controller.edges.clock import SystemClock
from controller.observe.prices.book import PriceBook
from controller.record.live.reporter import PlainReporter
from tests.unit.controller.harness import SETTINGS

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "review"


@dataclass
class FakeTerraform:
    """Plans what a golden file says, and counts applies."""

    name: str = "move"
    serial: int = 4
    fails: bool = False
    planned: int = 0
    applied: list[bytes] = field(default_factory=list)

    def init(self) -> None:
        if self.fails:
            raise TerraformError("terraform init failed", "Try again.")

    def plan(self, file: Path, **options: Any) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.name)
        self.planned += 1

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
    (tmp_path / "training.yml").write_text("model: { preset: tiny }\n")
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
