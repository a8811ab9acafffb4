"""What `centavo simulate` does."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from controller.decide.policies import find_policy
from controller.simulate.compare import COMPARED, Row, summary
from controller.simulate.plot import plot
from controller.simulate.policies import SIMULATED_POLICIES
from controller.simulate.random_scenarios import random_scenario, read_prices
from controller.simulate.run import simulate
from controller.simulate.scenario import Scenario, ScenarioError, load_scenario
from controller.simulate.tables import outcome_table, summary_table
from controller.simulate.told import ORACLE


def run(options: argparse.Namespace) -> int:
    """Simulates, prints a table for each scenario, writes its plot, and returns the exit code.

    Args:
        options: `scenarios`, `random`, `seed`, `policy`, `prices`, `output` and `no_plot`, as the command takes them.
    """
    console = Console(width=max(120, Console().width))
    try:
        scenarios = _scenarios(options)
        policies = [find_policy(name, SIMULATED_POLICIES).name for name in options.policy or COMPARED]
    except (ScenarioError, OSError, ValueError) as error:
        console.print(f"centavo simulate: {error}", style="red", soft_wrap=True)
        return 2
    if not scenarios:
        console.print("centavo simulate: name a scenario file, or ask for random ones with --random N", soft_wrap=True)
        return 2
    collected: dict[str, list[Row]] = {}
    for scenario in scenarios:
        for policy, row in _one(console, scenario, policies, None if options.no_plot else options.output).items():
            collected.setdefault(policy, []).append(row)
    if len(scenarios) > 1:
        summaries = {policy: summary(rows) for policy, rows in collected.items()}
        console.print(summary_table(summaries, len(scenarios)))
    return 0


def _scenarios(options: argparse.Namespace) -> list[Scenario]:
    prices = read_prices(Path(options.prices)) if options.prices else None
    files = [load_scenario(path, prices) for path in options.scenarios]
    return files + [random_scenario(seed, prices) for seed in range(options.seed, options.seed + options.random)]


def _one(console: Console, scenario: Scenario, policies: Sequence[str], output: Path | None) -> dict[str, Row]:
    """Simulates one scenario, prints its table, and writes its plot where there is an output folder."""
    outcomes = {policy: simulate(scenario, policy) for policy in dict.fromkeys((ORACLE, *policies))}
    rows = {policy: Row(scenario.objective, outcome, outcomes[ORACLE]) for policy, outcome in outcomes.items()}
    console.print(outcome_table(scenario, rows))
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        path = output / f"{scenario.name}.svg"
        plot(outcomes, f"scenario {scenario.name}, seed {scenario.seed}", path)
        console.print(f"plot: {path}", soft_wrap=True)
    return rows
