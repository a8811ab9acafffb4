"""What handing a run to the head costs the training: the same run watched from here and detached, in turn.

    python -m tests.bench.bench_detached [--rounds 2] [--steps 600] [--output runs/bench/detached.json]

One cloud on this machine has a head and two workers of one flavor, so that no move is made. Each round trains the same
steps twice: controlled by `centavo optimize`, and by the controller on the head after `centavo optimize --detach`. The
results are fetched from the cluster's bucket both times. Two figures compare the two, from the training's own log:

- by windows: the time of each window of the log beside that of the same steps in the other run; the sum counts.
- by the clock: from the first line of the log to the last one.

At most 1 % more time and no lost step is asked of a detached run. The order changes from round to round.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.support.sandbox import Sandbox, client_of, make_sandbox, wait_until

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 1800.0
WARM_UP_STEPS = 50
MOST_RATIO = 1.01


@dataclass(frozen=True)
class Trained:
    """One run, as its training's log and its report tell.

    Attributes:
        windows_s_per_token: By the last step of each window of the log: seconds for each of its target tokens.
        seconds: From the first counted line to the last one.
        steps: Steps in the report.
        steps_lost: Steps that were made twice, or are missing.
    """

    windows_s_per_token: dict[int, float]
    seconds: float
    steps: int
    steps_lost: int


class Bucket:
    """The cluster's bucket, read as a person with credentials does."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._s3 = client_of(sandbox.root, sandbox.endpoint, "s3")
        names = [one["Name"] for one in self._s3.list_buckets()["Buckets"]]
        self._name = next(name for name in names if name.startswith("centavo-local-"))

    def read(self, key: str) -> str:
        return str(self._s3.get_object(Bucket=self._name, Key=key)["Body"].read().decode())

    def lease(self) -> dict[str, Any]:
        return dict(json.loads(self.read("control/lease.json")))

    def trained(self) -> Trained:
        """Returns what the last run of the cluster has left."""
        run = self.lease()["run"]
        report = json.loads(self.read(f"{run}/control/report.json"))
        if report["status"] != "finished":
            raise SystemExit(f"The run {run} ended with the status {report['status']}.")
        lines = [json.loads(line) for line in self.read(f"{run}/results/train.log").splitlines()]
        counted = [line for line in lines if line["step"] > WARM_UP_STEPS and "tokens_per_s" in line]
        first, last = (datetime.fromisoformat(counted[place]["t"][:-1]) for place in (0, -1))
        return Trained(
            {line["step"]: 1 / line["tokens_per_s"] for line in counted},
            (last - first).total_seconds(), report["training"]["steps"], report["training"]["steps_lost"],
        )  # fmt: skip


def watched(sandbox: Sandbox) -> Trained:
    """Trains with the controller on this machine."""
    sandbox.succeed("optimize")
    return Bucket(sandbox).trained()


def detached(sandbox: Sandbox) -> Trained:
    """Trains with the controller on the head, and takes the cluster back afterwards."""
    sandbox.succeed("optimize", "--detach")
    bucket = Bucket(sandbox)
    wait_until(lambda: _has_ended(bucket), LIMIT_S, "the end of the detached run")
    sandbox.succeed("take-over")
    return bucket.trained()


def _has_ended(bucket: Bucket) -> bool:
    lease = bucket.lease()
    return bool(lease["released"]) and lease["stage"] == "ended"


def compared(here: Trained, there: Trained) -> dict[str, Any]:
    """Returns the figures of a watched and a detached run."""
    both = here.windows_s_per_token.keys() & there.windows_s_per_token.keys()
    sums = [sum(run.windows_s_per_token[step] for step in both) for run in (here, there)]
    return {
        "ratio_by_windows": sums[1] / sums[0],
        "ratio_by_the_clock": there.seconds / here.seconds,
        **{
            name: {key: value for key, value in asdict(run).items() if key != "windows_s_per_token"}
            for name, run in (("watched", here), ("detached", there))
        },
    }


def measure(folder: Path, rounds: int, steps: int) -> list[dict[str, Any]]:
    """Returns the figures of each round."""
    with ExitStack() as stack:
        sandbox = make_sandbox(
            folder / "checkout", stack, initial={"c5.large": 2}, speeds={"c5.large": 0.25}, steps=steps
        )
        found = []
        for number in range(rounds):
            if number % 2:
                there = detached(sandbox)
                here = watched(sandbox)
            else:
                here = watched(sandbox)
                there = detached(sandbox)
            found.append(compared(here, there))
            print(json.dumps(found[-1]), flush=True)
        sandbox.succeed("destroy", "--delete-data")
    return found


def show(found: list[dict[str, Any]]) -> None:
    """Prints the figures."""
    table = Table("round", "watched, s", "detached, s", "by the clock", "by windows", "steps lost, detached")
    for number, one in enumerate(found, start=1):
        table.add_row(
            str(number), f"{one['watched']['seconds']:.0f}", f"{one['detached']['seconds']:.0f}",
            f"{one['ratio_by_the_clock']:.4f}", f"{one['ratio_by_windows']:.4f}", str(one["detached"]["steps_lost"]),
        )  # fmt: skip
    Console().print(table)


def main() -> int:
    """Runs the bench. Returns 0: a time fails nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "detached.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="centavo-detached-") as name:
        found = measure(Path(name), options.rounds, options.steps)
    show(found)
    mean = sum(one["ratio_by_windows"] for one in found) / len(found)
    print(f"a detached run takes {mean:.4f} times as long a step as a watched one (at most {MOST_RATIO} asked)")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"mean_ratio": mean, "rounds": found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
