"""`centavo simulate` on a scenario file: tables, plots and exit codes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from controller.simulate.command import run

SCENARIO = """
flavors:
  a.large: {usd_per_hour: 0.10, tokens_per_s: 1000, vcpus: 2}
  b.large: {usd_per_hour: 0.12, tokens_per_s: 3000, vcpus: 2}
initial: {a.large: 2}
total_steps: 2000
tokens_per_step: 4000
"""


def options(file: Path, **changes: object) -> Namespace:
    """Returns the options of the command, for one scenario file and without plots."""
    given = {"scenarios": [file], "random": 0, "seed": 1, "policy": None, "prices": None, "output": file.parent}
    return Namespace(**{**given, "no_plot": True, **changes})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yml"
    path.write_text(SCENARIO)
    return path


def test_without_a_choice_all_policies_are_compared_with_the_oracle(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(options(file)) == 0
    table = capsys.readouterr().out
    for policy in ("oracle", "cheapest-fleet", "price-time", "hourly-price", "vcpu-price", "bayesian"):
        assert policy in table


def test_a_chosen_policy_is_plotted_beside_the_oracle(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options(file, policy=["price-time"], no_plot=False)) == 0
    assert "bayesian" not in capsys.readouterr().out
    assert (file.parent / "small.svg").is_file()


@pytest.mark.parametrize(
    "changes", [{"scenarios": []}, {"policy": ["greedy"]}, {"scenarios": [Path("missing.yml")]}], ids=str
)
def test_what_cannot_be_simulated_ends_with_code_2(
    file: Path, changes: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(options(file, **changes)) == 2
    assert capsys.readouterr().out.startswith("centavo simulate: ")
