"""How long a report of a very long run takes, and how large it is: 10,000 decisions, 1,000 nodes.

    python -m tests.bench.bench_report [--decisions 10000] [--nodes 1000] [--keep DIRECTORY]

The run is written through the journal's own interface.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from controller.domain import Fleet, Observation
from controller.record.journal import Journal
from controller.record.report.html.page import write_page
from controller.record.report.report import write_report
from tests.unit.controller.record.synthetic import BEGAN, PRICES, SyntheticRun

MOST_S = 30.0
"""Of processor time, all in one thread: what it takes on a machine that has nothing else to do."""
MOST_BYTES = 5_000_000
MOVE_EVERY = 500


class LongRun(SyntheticRun):
    """Makes the facts of a fleet once, and then only dates them anew."""

    looks = 0
    template: Observation | None = None

    def observe(self) -> Observation:
        """One look at a training that goes on."""
        self.now += self.interval_s
        self.step = min(self.total_steps, self.step + self.interval_s / self.step_s(self.fleet))
        if self.template is None or self.template.fleet != self.fleet or self.looks % 50 == 0:
            self.template = Observation(self.now, self.fleet, tuple(self._facts()))
        first = replace(self.template.facts[0], step=int(self.step), loss=self.loss(),
                        total_tokens=int(self.step * self.tokens_per_step))  # fmt: skip
        observation = Observation(self.now, self.fleet, (first, *self.template.facts[1:]))
        self.looks += 1
        self.journal.add_observation(observation, self._usd_per_hour())
        return observation


def write_run(runs: Path, decisions: int, nodes: int) -> Journal:
    """A run that moves a part of its fleet to and fro."""
    mixed = Fleet(dict.fromkeys(PRICES, nodes // len(PRICES)) | {"c5.large": nodes - 5 * (nodes // len(PRICES))})
    run = LongRun(runs, initial=mixed, tokens_per_step=4096.0 * nodes, total_steps=4 * decisions)
    run.boot()
    while run.looks < decisions:
        run.train(MOVE_EVERY, reason=f"no fleet is cheaper by more than the margin (look {run.looks})")
        run.move(Fleet({"c5.large": nodes}) if run.fleet == mixed else mixed)
    return run.end()


def main() -> int:
    """Writes the run, times the report, prints both; 1 when a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        runs = options.keep or Path(directory)
        journal = write_run(runs, options.decisions, options.nodes)
        began, began_cpu = time.perf_counter(), time.process_time()
        report = write_report(journal, PRICES, BEGAN)
        made = time.perf_counter()
        page = write_page(journal, report)
        ended, cpu_s = time.perf_counter(), time.process_time() - began_cpu
        size = page.stat().st_size
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.decisions} decisions, {options.nodes} nodes, {len(report['moves'])} moves: "
          f"report.json {made - began:.1f} s, report.html {ended - made:.1f} s ({cpu_s:.1f} s of processor time), "
          f"{size / 1e6:.2f} MB, peak memory {memory:.0f} MB")  # fmt: skip
    return 0 if cpu_s < MOST_S and size < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
