"""`make faults`: runs the campaign, or one fault of it (FAULT=, SEED=). Exits with 1 after a violation."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.faults.campaign import LAYERS, faults_of, layer_of, run_all
from tests.faults.fault import Fault, Result
from tests.faults.table import summary, table, violations

PAIRS = 400
OUT = Path("runs/bench/faults.json")


def main(arguments: Sequence[str]) -> int:
    """Runs the campaign. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--fault", help="the name of one fault")
    parser.add_argument("--seed", type=int, help="the seed of one pair of faults")
    parser.add_argument("--only", default="", help="run only faults whose name contains this")
    parser.add_argument("--layer", default="", help="run only this layer: simulated, edges or training")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="how many pairs are drawn")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # what was started is ended, too
    layers = [module for module in LAYERS if options.layer in ("", layer_of(module).NAME)]
    if options.fault is not None or options.seed is not None:
        return _show(layers, options.fault, options.seed)
    seeds = range(1, options.pairs + 1)
    by_layer = {}
    for module in layers:
        faults = [fault for fault in faults_of(module, seeds) if options.only in fault.name]
        by_layer[layer_of(module).NAME] = run_all(module, faults, _tell)
    results = [result for own in by_layer.values() for result in own]
    print(table(results))
    found = summary(by_layer, seeds)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(found, indent=2) + "\n")
    print(f"{found['faults']} faults, {found['violations']} violations; {OUT}")
    return 1 if found["violations"] else 0


def _tell(result: Result) -> None:
    for line in violations([result]):
        print(line, flush=True)


def _show(layers: Sequence[str], name: str | None, seed: int | None) -> int:
    """Runs one fault, and shows what was told meanwhile."""
    for module in layers:
        layer = layer_of(module)
        fault = layer.pair(seed or 0) if name is None else Fault(name, "")
        try:
            result = None if fault is None else layer.run(fault)
        except LookupError:
            continue
        if result is None:
            continue
        print("\n".join(result.told))
        print(f"{result.fault.name}: " + ("it happened" if result.has_happened else "the run did not get to it"))
        print("\n".join(result.violations) or "all invariants hold")
        return 1 if result.violations else 0
    print(f"there is no fault {name!r}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
