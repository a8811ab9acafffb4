"""How large the journal of a very long run is, and what a pass costs it: 10,000 passes of 1,000 nodes.

    python -m tests.bench.bench_journal [--passes 10000] [--nodes 1000] [--output runs/bench/journal.json]

Every pass writes an observation of all nodes, each with numbers of its own, and a decision with its evidence, and reads
what deciding reads: the last observations of each fleet, and the money spent. The fleet moves every 500 passes, and
loses nodes for a while every 50: fleets come and go as on spot instances.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from controller.decide.model.situation import READ_OBSERVATIONS
from controller.domain import Fact, Fleet, Verdict
from controller.record.journal import Journal
from tests.unit.controller.record.synthetic import PRICES, SyntheticRun

MOST_BYTES = 200_000_000
MOVE_EVERY = 500
LOSE_EVERY = 50
LOST_FOR = 5


class UnevenRun(SyntheticRun):
    """A run whose ranks all report other numbers, as real ones do."""

    def _facts(self) -> list[Fact]:
        return [self._uneven(fact) for fact in super()._facts()]

    def _uneven(self, fact: Fact) -> Fact:
        draw = self.random.random
        return replace(
            fact,
            iteration_time_s=fact.iteration_time_s and fact.iteration_time_s * (0.95 + 0.1 * draw()),
            updated_at=round(fact.updated_at - 5 * draw(), 3),
            peak_memory_bytes=int(8e8 + 1e8 * draw()),
            loss=fact.loss and fact.loss * (0.99 + 0.02 * draw()),
        )


def bench(runs: Path, passes: int, nodes: int) -> dict[str, Any]:
    """Writes the run and returns what it took."""
    mixed = Fleet(dict.fromkeys(PRICES, nodes // len(PRICES)) | {"c5.large": nodes - 5 * (nodes // len(PRICES))})
    run = UnevenRun(runs, initial=mixed, tokens_per_step=4096.0 * nodes, total_steps=4 * passes)
    run.boot()
    took_s = [_pass(run, number, mixed, nodes) for number in range(1, passes + 1)]
    largest = _bytes(run.journal)
    began = time.perf_counter()
    kept = len(run.journal.observations())
    read_s = time.perf_counter() - began
    tenth = max(2, passes // 10)
    return {
        "nodes": nodes,
        "passes": passes,
        "bytes": largest,
        "most_bytes": MOST_BYTES,
        "kept_whole": kept,
        "pass_ms": {
            "median": _ms(median(took_s)),
            "p99": _ms(quantiles(took_s, n=100)[98]),
            "worst": _ms(max(took_s)),
            "first_tenth": _ms(median(took_s[:tenth])),
            "last_tenth": _ms(median(took_s[-tenth:])),
        },
        "read_all_kept_s": round(read_s, 2),
    }


def _pass(run: UnevenRun, number: int, mixed: Fleet, nodes: int) -> float:
    """Makes one pass, and returns the seconds that the journal took in it."""
    if number % MOVE_EVERY == 0:
        run.move(Fleet({"c5.large": nodes}) if run.fleet == mixed else mixed)
    whole = run.fleet
    if number % LOSE_EVERY < LOST_FOR:
        run.fleet = Fleet({**whole, "c5.large": whole.count("c5.large") - 1 - number // LOSE_EVERY % 20})
    observation = run.unwritten()
    decision = run.decision(observation, Verdict.STAY, run.fleet, f"no fleet is cheaper by the margin (pass {number})")
    began = time.perf_counter()
    run.journal.add_observation(observation, 100.0)
    run.journal.recent(READ_OBSERVATIONS)
    run.journal.spent_usd()
    run.journal.add_decision(decision)
    run.journal.add_event(run.now, "note", f"pass {number}: nothing to do")
    took_s = time.perf_counter() - began
    run.fleet = whole
    return took_s


def _bytes(journal: Journal) -> int:
    """Returns what the journal takes on the disk, the log of its last writes included."""
    return sum(file.stat().st_size for file in journal.directory.glob("journal.sqlite*"))


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


def main() -> int:
    """Writes the run, and prints and keeps what it took; 1 when the journal is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/journal.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = bench(Path(directory), options.passes, options.nodes)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    milliseconds = found["pass_ms"]
    print(
        f"{options.passes:,} passes of {options.nodes:,} nodes: {found['bytes'] / 1e6:.1f} MB, "
        f"{found['kept_whole']} observations whole; the journal takes {milliseconds['median']} ms a pass "
        f"(99 %: {milliseconds['p99']} ms; last tenth: {milliseconds['last_tenth']} ms)"
    )
    return 0 if found["bytes"] < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
