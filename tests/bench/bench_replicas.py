"""What comparing the replicas costs: the time of one comparison beside that of the steps between two.

Two ranks on this machine, one thread each, compare checksums of parameters and optimizer as a training does, for the
sizes `tiny` and `base` (vocabulary 8000). A step is a forward and backward pass of one batch and Adam's update. The
result is `runs/bench/replicas.json`. It fails where a comparison takes 0.5% of the time or more.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

MODELS = {"tiny": (128, 16), "base": (32, 16)}
"""Sentences per rank and tokens per sentence."""
VOCABULARY = 8000
LIMIT = 0.005
ROUNDS = 3


def measure(preset: str) -> None:
    """Prints the seconds of a step and of a comparison, and the bytes compared, as one rank of a world."""
    import horovod.mxnet as hvd
    import mxnet as mx
    from mxnet import autograd

    from trainer.elastic.exchange import gather_objects
    from trainer.model import build as model
    from trainer.optim.adam import Adam
    from trainer.optim.gradient_buckets import GradientBuckets
    from trainer.settings.model import ModelSettings
    from trainer.training.state import TrainingState

    hvd.init()
    sentences, length = MODELS[preset]
    made = model.build(ModelSettings(preset=preset, max_length=length + 2), VOCABULARY)
    parameters = dict(sorted(made.parameters().items()))
    adam = Adam(list(parameters.values()), 0.9, 0.98, 1e-9)
    state = TrainingState(parameters, adam, GradientBuckets(list(parameters.values()), 64))
    ids = mx.nd.random.randint(4, VOCABULARY, (sentences, length), dtype="int32")
    lengths = mx.nd.full((sentences,), length)

    def step() -> None:
        with autograd.record():
            loss, _ = made.loss(ids, lengths, ids, lengths)
        loss.backward()
        adam.update(1e-4, 1 / (sentences * length))
        mx.nd.waitall()

    def compare() -> None:
        gather_objects(state.checksum(), "checksums")

    def seconds(action: object) -> float:
        began = time.perf_counter()
        action()  # type: ignore[operator]
        return time.perf_counter() - began

    step()
    compare()
    steps, comparisons = ([seconds(action) for _ in range(ROUNDS)] for action in (step, compare))
    size = sum(array.nbytes for array in state.snapshot().arrays.values())
    print(json.dumps({"step_s": median(steps), "comparison_s": median(comparisons), "bytes": size}))


def main() -> None:
    """Measures each size, prints the table and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "replicas.json")
    parser.add_argument("--measure", choices=list(MODELS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    from tests.support.ranks import run_world
    from trainer.settings.training import ElasticSettings

    every, result = ElasticSettings().check_replicas_every_steps, {}
    print(f"{'model':8}{'MB':>8}{'step (s)':>10}{'comparison (s)':>16}{f'share, every {every} steps':>26}")
    for preset in MODELS:
        command = [sys.executable, "-W", "ignore", __file__, "--measure", preset]
        codes, outputs, errors = run_world(2, lambda rank, command=command: command)
        if any(codes):
            raise SystemExit(errors[0])
        found = json.loads(outputs[0])
        share = found["comparison_s"] / (every * found["step_s"] + found["comparison_s"])
        result[preset] = {**found, "every_steps": every, "share": round(share, 6)}
        print(
            f"{preset:8}{found['bytes'] / 1e6:8.0f}{found['step_s']:10.3f}{found['comparison_s']:16.4f}{share:26.3%}",
            flush=True,
        )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    if any(entry["share"] >= LIMIT for entry in result.values()):
        raise SystemExit(f"a comparison takes {LIMIT:.1%} of the time or more")


if __name__ == "__main__":
    main()
