"""Step time on a fleet of unequal nodes, with equal shares and with shares in proportion to speed.

Two hosts, emulated at speeds 1 : 2.5 (`--speeds` for others), train the same steps twice. Without rebalancing the
slowest rank sets the pace: B / n at its speed. With it a step approaches B / sum(speeds), the best that any division of
the batch can reach. What is left above it: the exchange and the update (some 30 ms); what a step costs whatever its
size, 8 ms of processor time, which is 67 ms at a speed of 0.12; shapes of batches that are met for the first time (15
to 20 % more time, and in a short training most are new); and that the slower of the ranks sets the pace of each single
step, where the time of each varies by a tenth. The result is `runs/bench/balance.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.fleet import Fleet, wait_until  # noqa: E402

LEFT_OUT_STEPS = 40
LIMIT_S = 1800.0


def training(steps: int, is_balanced: bool) -> dict[str, Any]:
    """Returns the training.yml of one run."""
    return {
        "stop": {"steps": steps},
        "corpus": {"kind": "generated", "pairs": 6000, "held_out": 20},
        "vocabulary": {"size": 600},
        "model": {"preset": "tiny"},
        "batch": {"tokens": 2048, "max_tokens": 120},
        "balance": {"enabled": is_balanced},
        "checkpoint": {"every_steps": None},
        "facts": {"window": steps},
        "translate": {"beam_size": 1, "max_length": 20},
    }


def measure(directory: Path, speeds: list[float], steps: int, is_balanced: bool) -> tuple[float, float]:
    """Returns the mean step time in seconds, and B / sum(speeds) by this run's own measured speeds."""
    with Fleet(directory, training(steps, is_balanced), net=41) as fleet:
        hosts = [fleet.add(number, speed) for number, speed in enumerate(speeds, start=1)]
        fleet.write_hosts(hosts)
        launcher = fleet.launch()
        wait_until(lambda: launcher.poll() is not None, LIMIT_S, "the end of the training")
        if launcher.returncode:
            raise SystemExit(fleet.log())
        facts = [host.fact() for host in hosts]
        lines = [json.loads(line) for line in (fleet.results / "train.log").read_text().splitlines()]
        tokens_per_step = fleet.scores()["tokens"] / steps
    first, last = next(line for line in lines if line["step"] > LEFT_OUT_STEPS), lines[-1]
    seconds = (datetime.fromisoformat(last["t"][:-1]) - datetime.fromisoformat(first["t"][:-1])).total_seconds()
    ideal = tokens_per_step / sum(fact["tokens"] / fact["compute_time_s"] for fact in facts)
    return seconds / (last["step"] - first["step"]), ideal


def main() -> None:
    """Runs both trainings, prints the table and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--speeds", type=float, nargs="+", default=[0.12, 0.30], help="shares of a core, one per host")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "balance.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="balance-") as name:
        equal, ideal_1 = measure(Path(name, "equal"), options.speeds, options.steps, False)
        balanced, ideal_2 = measure(Path(name, "balanced"), options.speeds, options.steps, True)
    times = {"equal": round(equal, 4), "balanced": round(balanced, 4), "ideal": round(mean([ideal_1, ideal_2]), 4)}
    print(f"hosts at speeds {', '.join(map(str, options.speeds))} of a core, {options.steps} steps")
    print(f"{'shares of the batch':32}{'step time (s)':>14}{'times ideal':>14}")
    for label, key in (("equal", "equal"), ("by measured speed", "balanced"), ("ideal: B / sum(speeds)", "ideal")):
        print(f"{label:32}{times[key]:>14.3f}{times[key] / times['ideal']:>14.2f}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"step_time_s": times}, indent=1) + "\n")


if __name__ == "__main__":
    main()
