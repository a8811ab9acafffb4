"""Policies on families of random scenarios, against an oracle: python tests/bench/bench_policies.py [--scenarios N].

Writes runs/bench/policies.json and policies.svg (of the family `known`, or of the first one), and prints a table of
all families, or of those that --family names. Real prices are used where CENTAVO_PRICES_CSV, or --prices, names a list.
With --rows FILE, each scenario's rows are appended to a file, and those that it has are not run again: a long bench can
be stopped and continued. Take a new file after the code has changed.

`--policy told-spread` shows what is lost in `speeds-unlike-vcpus` by not knowing how far speeds spread. In the other
families it does what `cheapest-fleet` does.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
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
from controller.simulate.compare import COMPARED, Row, compare, finite, summary  # noqa: E402
from controller.simulate.families import FAMILIES, family_scenario  # noqa: E402
from controller.simulate.kept_rows import KeptRows  # noqa: E402
from controller.simulate.plot import plot_shares  # noqa: E402
from controller.simulate.random_scenarios import read_prices  # noqa: E402
from controller.simulate.tables import families_table  # noqa: E402
from controller.simulate.told import LIMIT, ORACLE, TOLD_SPREAD  # noqa: E402

OURS = "cheapest-fleet"
BENCHED = (*COMPARED, LIMIT)
LIMITS = (ORACLE, LIMIT, TOLD_SPREAD)
Rows = dict[str, list[Row]]
"""By policy: its rows, scenario after scenario."""


def one(seed: int, missing: Sequence[str], family: str, prices: Mapping[str, float] | None) -> dict[str, Row]:
    """The policies that are missing in one family's scenario of one seed, and the oracle."""
    return compare(family_scenario(family, seed, prices), missing) if missing else {}


def collect(args: argparse.Namespace, prices: Mapping[str, float] | None) -> Iterator[tuple[str, Rows]]:
    """The rows of each policy, family after family, with progress on standard error."""
    kept, wanted = KeptRows(args.rows, "list" if prices else "made up"), (ORACLE, *(args.policy or BENCHED))
    pool = ProcessPoolExecutor(args.processes) if args.processes > 1 else None
    for family in args.family or FAMILIES:
        run, began = partial(one, family=family, prices=prices), time.monotonic()
        seeds = range(args.seed, args.seed + args.scenarios)
        missing = [[p for p in wanted if p != ORACLE and p not in kept.of(family, seed)] for seed in seeds]
        for seed, rows in zip(seeds, (pool.map if pool else map)(run, seeds, missing), strict=True):
            kept.add(family, seed, rows)
        print(f"{family}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        yield family, {policy: [kept.of(family, seed)[policy] for seed in seeds] for policy in wanted}
    if pool:
        pool.shutdown()


def report(args: argparse.Namespace, families: Mapping[str, Rows]) -> dict[str, object]:
    """What is written to the file, which is whole after every family."""
    return {
        "scenarios": args.scenarios,
        "seed": args.seed,
        "last_seed": args.seed + args.scenarios - 1,
        "prices": "list" if args.prices else "made up",
        "families": {family: of_family(family, rows) for family, rows in families.items()},
    }


def of_family(family: str, rows: Rows) -> dict[str, object]:
    """The figures of one family."""
    others = [policy for policy in rows if policy not in (OURS, *LIMITS)]
    return {
        "says": FAMILIES[family].says,
        "policies": {policy: summary(rows[policy]) for policy in rows},
        "beaten_by_cheapest_fleet": {policy: beaten(rows, policy) for policy in others if OURS in rows},
        "over_oracle": {p: [finite(row.over_oracle) for row in rows[p]] for p in rows if p != ORACLE},
    }


def write(args: argparse.Namespace, result: dict[str, object]) -> None:
    """Replace the result file."""
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def beaten(rows: Rows, policy: str) -> dict[str, object]:
    """By how much cheapest-fleet beats another policy, and the scenarios in which it does not.

    `median` and `p95` are the other's cost over the oracle's, over ours. `more_expensive_share` is the share of the
    scenarios in which cheapest-fleet costs, or takes, over 2% more than the other. In those of
    `more_expensive_with_constraints_kept_share`, the other has kept deadline and budget as well. A figure that a
    training without end would make infinite is None.
    """
    pairs = list(zip(rows[OURS], rows[policy], strict=True))
    ours, theirs = ([pair[side].over_oracle for pair in pairs if is_about_cost(pair[0])] for side in (0, 1))
    more_expensive = [(mine, other) for mine, other in pairs if mine.over_oracle > 1.02 * other.over_oracle]
    kept = [
        mine for mine, other in more_expensive if False not in (other.outcome.deadline_met, other.outcome.budget_met)
    ]
    return {
        "median": finite(float(np.median(theirs) / np.median(ours))),
        "p95": finite(float(np.quantile(theirs, 0.95) / np.quantile(ours, 0.95))),
        "more_expensive_share": round(len(more_expensive) / len(pairs), 4),
        "more_expensive_with_constraints_kept_share": round(len(kept) / len(pairs), 4),
        "examples": [mine.outcome.scenario for mine in kept[:10]],
    }


def is_about_cost(row: Row) -> bool:
    """Whether its scenario asks for the least cost."""
    return row.objective is Objective.COST


def is_drawn(row: Row) -> bool:
    """Whether its cost is in the picture: not where the training never ends, which costs without end."""
    return is_about_cost(row) and math.isfinite(row.over_oracle)


def draw(args: argparse.Namespace, rows: Rows) -> Path:
    """The picture beside the result file."""
    path: Path = args.output.with_suffix(".svg")
    costs = {p: [row.over_oracle for row in rows[p] if is_drawn(row)] for p in rows if p != ORACLE}
    plot_shares(costs, f"{max(map(len, costs.values()))} simulated trainings for the least cost", path)
    return path


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=200, help="of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--family", action="append", choices=FAMILIES, help="a family (default: all)")
    parser.add_argument(
        "--policy", action="append", choices=(*BENCHED, TOLD_SPREAD), help="a policy (default: all but told-spread)"
    )
    parser.add_argument("--prices", default=os.environ.get("CENTAVO_PRICES_CSV"))
    parser.add_argument("--rows", type=Path, help="where rows are kept, to continue after a stop")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "policies.json")
    return parser.parse_args()


def main() -> int:
    """Run the bench."""
    args = parsed()
    prices = read_prices(Path(args.prices)) if args.prices else None
    console = Console(width=max(140, Console().width))
    seeds = f"seeds {args.seed} to {args.seed + args.scenarios - 1}, {'listed' if prices else 'made-up'} prices"
    began, families = time.monotonic(), dict[str, Rows]()
    for family, rows in collect(args, prices):
        families[family] = rows
        write(args, report(args, families))
    figures = {f: {p: summary(rows[p]) for p in rows if p != ORACLE} for f, rows in families.items()}
    console.print(families_table(figures, args.scenarios, seeds))
    drawn = draw(args, families.get("known") or next(iter(families.values())))
    console.print(f"{time.monotonic() - began:.0f} s; written: {args.output}, {drawn}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
