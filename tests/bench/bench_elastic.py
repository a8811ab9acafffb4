"""The same training on a fixed fleet, and while every node is replaced under it, rank 0 too.

Six hosts train; then five join at once and the five oldest (rank 0 among them) leave at once, and at last a new one
takes the place of the sixth. Both runs make the same steps over the same batches, without dropout, whose random numbers
depend on how a batch is cut, and translate the whole test split. The result is `runs/bench/elastic.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.fleet import Fleet, Host, wait_until  # noqa: E402

LIMIT_S = 3600.0
NODES = 6


def training(steps: int) -> dict[str, Any]:
    """Returns the training.yml of both runs."""
    return {
        "stop": {"steps": steps},
        "corpus": {"kind": "generated", "pairs": 30_000, "held_out": 2000},
        "vocabulary": {"size": 600},
        "model": {"preset": "tiny", "layers": 2, "units": 64, "hidden": 128, "dropout": 0.0},
        "batch": {"tokens": 1536, "max_tokens": 120},
        "optimizer": {"learning_rate": 0.004, "warmup_steps": 200, "clip_norm": 1.0},
        "checkpoint": {"every_steps": max(1, steps // 50), "keep": 10, "average": 10},
        "translate": {"beam_size": 4, "max_length": 80},
    }


def run(directory: Path, steps: int, play: Callable[[Fleet, list[Host]], None]) -> dict[str, Any]:
    """Trains while `play` runs. Returns the scores."""
    with Fleet(directory, training(steps), net=42) as fleet:
        hosts = [fleet.add(number) for number in range(1, NODES + 1)]
        fleet.write_hosts(hosts)
        launcher = fleet.launch()
        wait_until(lambda: fleet.step() > 0 or launcher.poll() is not None, LIMIT_S, "the first step")
        play(fleet, hosts)
        wait_until(lambda: launcher.poll() is not None, LIMIT_S, "the end of the training")
        if launcher.returncode:
            raise SystemExit(fleet.log())
        return fleet.scores()


def replace_all(steps: int) -> Callable[[Fleet, list[Host]], None]:
    """Replaces every node in two moves. The first one begins after a fifth of the steps."""

    def play(fleet: Fleet, hosts: list[Host]) -> None:
        wait_for(fleet, lambda: fleet.step() >= steps // 5, "a fifth of the steps")
        oldest = max(hosts, key=lambda host: host.fact()["rank"])
        new = [fleet.add(number) for number in range(11, 11 + NODES - 1)]
        move(fleet, [*hosts, *new], [oldest, *new])
        last = fleet.add(11 + NODES)
        move(fleet, [oldest, *new, last], [*new, last])

    return play


def move(fleet: Fleet, grown: list[Host], shrunk: list[Host]) -> None:
    """Grows, joins and shrinks, as the controller moves a fleet."""
    wait_for(fleet, lambda: all(host.is_warm or host.fact().get("step") for host in grown), "warm workers")
    for hosts in (grown, shrunk):
        fleet.write_hosts(hosts)
        wait_for(fleet, lambda hosts=hosts: are_training(hosts), f"a world of {len(hosts)}")


def wait_for(fleet: Fleet, condition: Callable[[], bool], what: str) -> None:
    """Waits while the training runs."""

    def is_there() -> bool:
        if fleet.launcher is not None and fleet.launcher.poll() is not None:
            raise SystemExit(f"the training ended before there was {what}: give it more --steps")
        return condition()

    wait_until(is_there, LIMIT_S, what)


def are_training(hosts: list[Host]) -> bool:
    """Returns whether these hosts, and no others, are the training's world."""
    facts = [host.fact() for host in hosts]
    return all(fact.get("state") == "training" and fact["world_size"] == len(hosts) for fact in facts)


def main() -> None:
    """Runs both trainings, prints the table and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "elastic.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="elastic-") as name:
        fixed = run(Path(name, "fixed"), options.steps, lambda fleet, hosts: None)
        elastic = run(Path(name, "elastic"), options.steps, replace_all(options.steps))
    print(f"{'fleet':12}{'steps':>8}{'BLEU':>8}{'loss':>8}{'steps lost':>12}{'replicas':>12}")
    for label, scores in (("fixed", fixed), ("replaced", elastic)):
        replicas = "identical" if scores["replicas_identical"] else "DIFFERENT"
        print(
            f"{label:12}{scores['steps']:>8}{scores['bleu']:>8.2f}{scores['final_loss']:>8.3f}"
            f"{scores['steps_lost']!s:>12}{replicas:>12}"
        )
    print(f"\n{'change of the world':24}{'pause (s)':>10}{'steps lost':>12}")
    for change in elastic["changes"]:
        sizes = f"{change['from_size']} -> {change['to_size']} ranks"
        print(f"{sizes:24}{change['pause_s']:>10.2f}{change['steps_lost']:>12}")
    result = {
        "bleu_fixed": round(fixed["bleu"], 2),
        "bleu_elastic": round(elastic["bleu"], 2),
        "steps_lost": elastic["steps_lost"],
        "pause_s": [change["pause_s"] for change in elastic["changes"]],
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
