"""Tables of simulated trainings, for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from controller.simulate.compare import Row
from controller.simulate.scenario import Scenario

Figures = Mapping[str, object]
"""What `summary` returns."""


def outcome_table(scenario: Scenario, rows: Mapping[str, Row]) -> Table:
    """Returns a table of the policies in one scenario."""
    table = Table("policy", title=f"scenario {scenario.name}")
    for heading in ("cost $", "hours", "over oracle", "deadline", "budget", "probes $", "moves", "rolled back"):
        table.add_column(heading, justify="right")
    words = {None: "-", True: "met", False: "MISSED"}
    for policy, row in rows.items():
        outcome = row.outcome
        table.add_row(
            policy,
            f"{outcome.cost_usd:.3f}",
            f"{outcome.time_s / 3600:.2f}",
            f"{row.over_oracle:.3f} x",
            words[outcome.deadline_met],
            words[outcome.budget_met],
            f"{outcome.probe_usd:.3f}",
            str(outcome.moves),
            str(outcome.rolled_back),
        )
    return table


def summary_table(summaries: Mapping[str, Figures], scenarios: int) -> Table:
    """Returns a table of the policies over many scenarios."""
    table = Table("policy", title=f"{scenarios} scenarios, cost over the oracle's")
    headings = (
        "median",
        "95%",
        "in time: median",
        "95%",
        "time: median",
        "deadlines",
        "budgets",
        "probes",
        "flip-flops",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for policy, figures in summaries.items():
        table.add_row(
            policy,
            *_two(figures["cost_over_oracle"]),
            *_two(figures["cost_over_oracle_in_time"]),
            _two(figures["time_over_oracle"])[0],
            _percent(figures["deadlines_met"]),
            _percent(figures["budgets_met"]),
            _percent(figures["probe_share"]),
            str(figures["flip_flops"]),
        )
    return table


def families_table(families: Mapping[str, Mapping[str, Figures]], scenarios: int, seeds: str) -> Table:
    """Returns a table with a row for each policy in each family of scenarios."""
    title = f"cost over the oracle's, {scenarios} scenarios of each family, {seeds}"
    table = Table("family", "policy", title=title)
    for heading in ("median", "95%", "worst", "time: 95%", "deadlines", "probes: mean", "most", "flip-flops", "moves"):
        table.add_column(heading, justify="right")
    for family, policies in families.items():
        for number, (policy, figures) in enumerate(policies.items()):
            table.add_row(family if not number else "", policy, *_family_row(figures))
        table.add_section()
    return table


def _family_row(figures: Figures) -> tuple[str, ...]:
    kept = figures["deadlines"]
    return (
        *_two(figures["cost_over_oracle"]),
        _quantile(figures["cost_over_oracle"], "worst"),
        _quantile(figures["time_over_oracle"], "p95"),
        f"{kept[0]} of {kept[1]}" if isinstance(kept, list) and kept[1] else "-",
        _percent(figures["probe_share"]),
        _percent(figures["probe_share_max"]),
        str(figures["flip_flops"]),
        f"{figures['moves_mean']:.1f}",
    )


def _two(quantiles: object) -> tuple[str, str]:
    return _quantile(quantiles, "median"), _quantile(quantiles, "p95")


def _quantile(quantiles: object, name: str) -> str:
    if not isinstance(quantiles, Mapping):
        return "-"
    value = quantiles[name]
    return "endless" if value is None else f"{value:.3f}"


def _percent(share: object) -> str:
    return f"{share:.1%}" if isinstance(share, float) else "-"
