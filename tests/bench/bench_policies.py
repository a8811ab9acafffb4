"""Policies on random scenarios, against an oracle: python tests/bench/bench_policies.py [--scenarios N] [--seed S].

Writes runs/bench/policies.json and policies.svg, and prints a table. Real prices are used where CENTAVO_PRICES_CSV, or
--prices, names a list.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
# Matrices here are tiny: threads of the linear algebra would only wait for each other. Read when numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from controller.decide import Objective  # noqa: E402
from controller.simulate.compare import COMPARED, ORACLE, Row, compare, summary, summary_table  # noqa: E402
from controller.simulate.plot import plot_shares  # noqa: E402
from controller.simulate.random_scenarios import random_scenario, read_prices  # noqa: E402


def one(seed: int, prices: dict[str, float] | None) -> dict[str, Row]:
    """All policies in the scenario of one seed."""
    return compare(random_scenario(seed, prices))


def collect(args: argparse.Namespace, prices: dict[str, float] | None) -> dict[str, list[Row]]:
    """The rows of each policy, scenario after scenario, with progress on standard error."""
    seeds = range(args.seed, args.seed + args.scenarios)
    rows: dict[str, list[Row]] = {}
    pool = ProcessPoolExecutor(args.processes) if args.processes > 1 else None
    results = pool.map(partial(one, prices=prices), seeds, chunksize=8) if pool else (one(s, prices) for s in seeds)
    for done, result in enumerate(results, start=1):
        for policy, row in result.items():
            rows.setdefault(policy, []).append(row)
        if done % 50 == 0 or done == args.scenarios:
            print(f"{done} of {args.scenarios} scenarios", file=sys.stderr, flush=True)
            write(args, report(args, rows, done))
    if pool:
        pool.shutdown()
    return rows


def report(args: argparse.Namespace, rows: dict[str, list[Row]], done: int) -> dict[str, object]:
    """What is written to the file, which is whole after every 50 scenarios."""
    summaries = {policy: summary(rows[policy]) for policy in rows}
    return {
        "scenarios": done,
        "seed": args.seed,
        "last_seed": args.seed + done - 1,
        "prices": "list" if args.prices else "made up",
        "policies": summaries,
        "beaten_by_cheapest_fleet": {policy: beaten(rows, policy) for policy in COMPARED if policy != "cheapest-fleet"},
    }


def write(args: argparse.Namespace, result: dict[str, object]) -> None:
    """Replace the result file."""
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def beaten(rows: dict[str, list[Row]], policy: str) -> dict[str, object]:
    """By how much cheapest-fleet beats another policy, and the scenarios in which it does not.

    `median` and `p95` are the other's cost over the oracle's, over ours. `more_expensive_share` is the share of the
    scenarios in which cheapest-fleet costs, or takes, over 2% more than the other. In those of
    `more_expensive_with_constraints_kept_share`, the other has kept deadline and budget as well.
    """
    pairs = list(zip(rows["cheapest-fleet"], rows[policy], strict=True))
    ours, theirs = ([pair[side].over_oracle for pair in pairs if is_about_cost(pair[0])] for side in (0, 1))
    more_expensive = [(mine, other) for mine, other in pairs if mine.over_oracle > 1.02 * other.over_oracle]
    kept = [
        mine for mine, other in more_expensive if False not in (other.outcome.deadline_met, other.outcome.budget_met)
    ]
    return {
        "median": round(float(np.median(theirs) / np.median(ours)), 4),
        "p95": round(float(np.quantile(theirs, 0.95) / np.quantile(ours, 0.95)), 4),
        "more_expensive_share": round(len(more_expensive) / len(pairs), 4),
        "more_expensive_with_constraints_kept_share": round(len(kept) / len(pairs), 4),
        "examples": [mine.outcome.scenario for mine in kept[:10]],
    }


def is_about_cost(row: Row) -> bool:
    """Whether its scenario asks for the least cost."""
    return row.objective is Objective.COST


def draw(args: argparse.Namespace, rows: dict[str, list[Row]]) -> Path:
    """The picture beside the result file."""
    path: Path = args.output.with_suffix(".svg")
    costs = {p: [row.over_oracle for row in rows[p] if is_about_cost(row)] for p in rows if p != ORACLE}
    plot_shares(costs, f"{len(costs['cheapest-fleet'])} simulated trainings for the least cost", path)
    return path


def main() -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--prices", default=os.environ.get("CENTAVO_PRICES_CSV"))
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "policies.json")
    args = parser.parse_args()
    prices = read_prices(Path(args.prices)) if args.prices else None
    console = Console(width=max(120, Console().width))
    console.print(f"seeds {args.seed} to {args.seed + args.scenarios - 1}, {'listed' if prices else 'made-up'} prices")
    began = time.monotonic()
    rows = collect(args, prices)
    summaries = {policy: summary(policy_rows) for policy, policy_rows in rows.items()}
    console.print(summary_table(summaries, args.scenarios))
    console.print(f"{time.monotonic() - began:.0f} s; written: {args.output}, {draw(args, rows)}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
