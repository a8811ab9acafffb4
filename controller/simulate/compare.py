"""The comparison of policies in the same scenarios, and the figures that sum it up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from controller.decide import Objective
from controller.simulate.run import Outcome, simulate
from controller.simulate.scenario import Scenario
from controller.simulate.told import ORACLE

COMPARED = ("cheapest-fleet", "price-time", "hourly-price", "vcpu-price", "bayesian")


@dataclass(frozen=True)
class Row:
    """One policy in one scenario, beside the oracle."""

    objective: Objective
    outcome: Outcome
    oracle: Outcome

    @property
    def over_oracle(self) -> float:
        """The policy's cost over the oracle's; in a scenario for the least time, its time over the oracle's."""
        if self.objective is Objective.COST:
            return self.outcome.cost_usd / self.oracle.cost_usd
        return self.outcome.time_s / self.oracle.time_s


def compare(scenario: Scenario, policies: Iterable[str] = COMPARED) -> dict[str, Row]:
    """Runs the oracle and the policies in one scenario. The curves are left out, since a thousand would fill memory."""
    oracle = _slim(simulate(scenario, ORACLE))
    rows = {policy: Row(scenario.objective, _slim(simulate(scenario, policy)), oracle) for policy in policies}
    return {ORACLE: Row(scenario.objective, oracle, oracle), **rows}


def _slim(outcome: Outcome) -> Outcome:
    return replace(outcome, moments=(), decisions=())


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def _quantiles(values: Sequence[float]) -> dict[str, float | None] | None:
    if not values:
        return None
    return {
        "median": finite(float(np.median(values))),
        "p95": finite(float(np.quantile(values, 0.95))),
        "mean": finite(float(np.mean(values))),
        "worst": finite(float(np.max(values))),
    }


def finite(value: float) -> float | None:
    """Returns a rounded number; None for an infinite one, which JSON does not have."""
    return round(value, 4) if np.isfinite(value) else None


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """Returns the figures of one policy over many scenarios. Shares are of 1.

    `cost_over_oracle` covers the scenarios for the least cost, with a deadline or without. `cost_over_oracle_in_time`
    leaves out those in which the oracle kept the deadline and the policy did not: being late saves money.
    `deadlines_met` and `budgets_met` are shares of those that the oracle kept; `deadlines` has the two numbers. A
    figure that a training without end would make infinite is None. The oracle has no cool-down: it undoes a move when
    a price or an interruption makes that worth it.
    """
    cost = [row for row in rows if row.objective is Objective.COST]
    timed = [row for row in rows if row.objective is Objective.TIME]
    in_time = [row for row in cost if row.outcome.deadline_met or not row.oracle.deadline_met]
    due = [row for row in rows if row.oracle.deadline_met]
    probe_shares = [row.outcome.probe_usd / row.outcome.cost_usd for row in rows if row.outcome.finished]
    return {
        "cost_over_oracle": _quantiles([row.over_oracle for row in cost]),
        "cost_over_oracle_in_time": _quantiles([row.over_oracle for row in in_time]),
        "time_over_oracle": _quantiles([row.over_oracle for row in timed]),
        "deadlines": [sum(bool(row.outcome.deadline_met) for row in due), len(due)],
        "deadlines_met": _share([bool(row.outcome.deadline_met) for row in due]),
        "budgets_met": _share([bool(row.outcome.budget_met) for row in rows if row.oracle.budget_met]),
        "probe_share": round(float(np.mean(probe_shares)), 5) if probe_shares else None,
        "probe_share_p95": round(float(np.quantile(probe_shares, 0.95)), 5) if probe_shares else None,
        "probe_share_max": round(float(np.max(probe_shares)), 5) if probe_shares else None,
        "flip_flops": sum(row.outcome.flip_flops for row in rows),
        "moves_mean": round(float(np.mean([row.outcome.moves for row in rows])), 3) if rows else None,
        "unfinished": sum(not row.outcome.finished for row in rows),
    }
