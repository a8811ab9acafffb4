"""What reaches `decide` of the settings and of what Terraform says."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.assembly import Workshop
from controller.clock import SystemClock
from controller.config import Environment, parse_settings
from controller.domain import Decision, Fact, Fleet, History, Observation, Price, Progress, TrainingState, Verdict
from controller.edges.terraform import FlavorOutput, HeadOutput, Outputs
from controller.record.events import PlainReporter
from tests.unit.controller.harness import PRICES, SETTINGS, SPEEDS

NOW = 1_800_000_000.0
INITIAL = Fleet({"t2.medium": 1, "c5.large": 1, "c5.xlarge": 1})


@dataclass
class UpCluster:
    """A cluster whose Terraform has declared so many nodes of each flavor."""

    max_nodes: dict[str, int] = field(default_factory=dict)
    head_usd_per_hour: float = 0.0

    @property
    def outputs(self) -> Outputs:
        flavors = {
            flavor: FlavorOutput(f"group-{flavor}", "on-demand", self.max_nodes.get(flavor, 12), 2, 4 << 30)
            for flavor in SPEEDS
        }
        return Outputs("c", "us-east-1", "b", HeadOutput("i-head", "10.0.0.1", None, "t3.small"), flavors)


def observation() -> Observation:
    """One node of each flavor trains, as fast as its flavor is."""
    facts = tuple(
        Fact(f"i-{rank}", flavor, rank, 3, TrainingState.TRAINING, 100, 0.4, 0.3, 16.0, 0.3 * speed, 50, NOW)
        for rank, (flavor, speed) in enumerate(SPEEDS.items())
    )
    return Observation(NOW, INITIAL, facts)


def decided(tmp_path: Path, limits: dict[str, Any], max_nodes: dict[str, int] | None = None) -> Decision:
    """What is decided for the first facts of a long training, with these limits in centavo.yml."""
    settings = copy.deepcopy(SETTINGS)
    settings["limits"] |= limits
    environment = Environment("test", tmp_path, parse_settings(settings, tmp_path / "centavo.yml"))
    prices = {flavor: Price(flavor, usd) for flavor, usd in PRICES.items()}
    workshop = Workshop(environment, prices, SystemClock(), PlainReporter())
    decide = workshop.decider(UpCluster(max_nodes or {}), "cheapest-fleet")  # type: ignore[arg-type]
    progress = Progress(100, 100_000, 60_000, NOW - 60, NOW)
    return decide([observation()], prices, environment.limits(), progress, History())


@pytest.mark.parametrize(
    ("limits", "max_nodes", "most"),
    [
        ({}, {}, 3),
        ({"max_nodes_per_flavor": {"c5.large": 2}}, {}, 2),
        ({"max_vcpus_per_flavor": {"c5.large": 5}}, {}, 2),
        ({}, {"c5.large": 2}, 2),
        ({"max_nodes_per_flavor": {"c5.large": 2}}, {"c5.large": 1}, 1),
    ],
)
def test_no_more_nodes_of_the_cheapest_flavor_are_asked_for_than_quota_and_terraform_allow(
    tmp_path: Path, limits: dict[str, Any], max_nodes: dict[str, int], most: int
) -> None:
    decision = decided(tmp_path, limits, max_nodes)
    if most > 1:
        assert decision.verdict is Verdict.MOVE
    assert decision.target.count("c5.large") == most


def test_an_excluded_flavor_is_left(tmp_path: Path) -> None:
    assert decided(tmp_path, {"exclude": ["c5.large"]}).target.count("c5.large") == 0
