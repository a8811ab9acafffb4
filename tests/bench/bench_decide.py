"""How long one decision takes on 50 flavors and 1,000 nodes: python tests/bench/bench_decide.py [--rounds N].

A whole `decide()`, with exploration and the tables for `centavo explain`: for each objective, without and with a
deadline and a budget, with 1, 10 and 50 flavors measured. The result is ``runs/bench/decide.json``, in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]
# Matrices here are tiny: threads of the linear algebra would only wait for each other. Read when numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from training import CONSTRAINTS, LargeCase  # noqa: E402

from controller.decide import Objective  # noqa: E402

MEASURED = (1, 10, 50)


def seconds(case: LargeCase, rounds: int) -> list[float]:
    """Wall-clock seconds of each of `rounds` decisions; every one starts from nothing."""
    times = []
    for _ in range(rounds):
        training, limits, settings = case.prepare()
        observation = training.observe()
        began = time.perf_counter()
        training.decide(limits, settings, observation)
        times.append(time.perf_counter() - began)
    return times


def main() -> int:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "decide.json")
    args = parser.parse_args()
    table = Table("objective", "constraint", "flavors measured", "median, s", "longest, s", title="One decision")
    results = []
    for objective in Objective:
        for constraint in CONSTRAINTS:
            for measured in MEASURED:
                times = seconds(LargeCase(objective, constraint, measured), args.rounds)
                median, longest = statistics.median(times), max(times)
                table.add_row(objective.value, constraint, str(measured), f"{median:.3f}", f"{longest:.3f}")
                case = {"objective": objective.value, "constraint": constraint, "measured": measured}
                results.append({**case, "median_s": round(median, 4), "longest_s": round(longest, 4)})
    Console(width=100).print(table)
    longest = max(one["longest_s"] for one in results)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps({"longest_s": longest, "cases": results}, indent=1) + "\n", encoding="utf-8")
    print(f"the longest took {longest:.2f} s; written: {args.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
