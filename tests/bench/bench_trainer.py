"""Training throughput of Centavo's trainer beside PyTorch's, in the same minutes on the same machine.

Both train the same sizes on the same batches with the same dropout, label smoothing and Adam: the trainer's own model,
optimiser and gradient exchange (Horovod over gloo) against `torch.nn.Transformer` with DistributedDataParallel over
gloo, both eager and by `torch.compile`. One contestant runs at a time, they take turns for several rounds, one thread
per process, and the median round counts. PyTorch lives in an environment of its own (`.venv-bench`, made at the first
run): it wants another numpy.

Each contestant runs in float32 and in bfloat16; its faster one counts, provided that its loss after the same updates is
within 2% of its float32 loss. The ratio is to the faster one of PyTorch's two. The result is `runs/bench/trainer.json`.

Where the time of a step of `tiny` went with GluonNLP's blocks (MXNet's profiler, 128 x 16 tokens, vocabulary 8000,
one thread), 1.25 s, and what `trainer.model.fused_graph` with `trainer.model.kernels` did about it:

- The loss over 8000 words: one-hot labels, smoothing, masks, mean, log-softmax and their way back are a dozen passes
  over 65 MB each, some of them scalar loops at 15 ns an element, and fresh memory for each (a fresh 65 MB array costs
  more in page faults than the product that fills it). Now one pass each way; the smoothed label needs no array, since
  the loss of a row is lse(z) - (1 - e) z[label] - e mean(z).
- Layer norm's way back: 13 ms for 2048 x 128, 22 times a step; it is composed of broadcast reductions. Now 0.2 ms.
- Dropout: 11 ns an element for its random numbers; now a hash of the element's number, made again on the way back.
- Attention: 12 operators each way, with transposes and masks in memory. Now one each way, queries, keys and values by
  one product. MXNet's interleaved_matmul operators and batch_dot were left aside: they loop over small products and
  leave softmax, mask and dropout where they are.
- Memory: fresh arrays cost a page fault for every 4 KiB, and bfloat16 kept 120 MB for every number of rows that it had
  ever seen; `trainer.model.allocation` has the numbers. This bench has one shape only, a training has hundreds.
- Adam: MXNet's `adam_update` is scalar, 2.1 ns an element, 0.10 s a step of `base`. The project's own
  (`trainer/model/kernels/adam.cc`) takes 0.03 s for the same bits, which is what memory allows.
- The exchange: gathering 48 million gradients of `base` for Horovod and spreading their sums again took half of the
  0.44 s that two ranks lost to it. The gradients now lie in the buckets in which they travel
  (`trainer.optim.gradient_buckets`).
- Compare processor time (`cpu_s_per_1000_tokens` in the JSON) where others use the machine too.

What remains is the matrix products, for which oneDNN (FullyConnected) is twice as fast as the OpenBLAS behind dot and
batch_dot. They are 148 GFLOP a step of `base` (512 rows, 48 million weights, 6 operations). On the machine measured
(AMD EPYC with AVX-512 BF16, one thread) oneDNN 2.4 of MXNet does 190 GFLOP/s in float32 and 350 in bfloat16; PyTorch
2.13 does 90 (MKL takes AVX2 on AMD) and 400. So twice PyTorch's speed can be had in float32; in bfloat16, in which
PyTorch spends 0.37 s of its 0.70 s on the products, it cannot: the products alone take MXNet 0.42 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trainer.model.tiles import ISA

ROOT = Path(__file__).resolve().parents[2]
CONTESTANTS = Path(__file__).with_name("contestants")
TORCH = "torch==2.13.0"
MODELS = {"tiny": (128, 16), "base": (32, 16)}
"""Sentences per process and tokens per sentence, as measured before (1.11 and 1.5 times PyTorch)."""
PRECISIONS = ("float32", "bfloat16")
CENTAVO, EAGER, COMPILED = WAYS = ("centavo", "pytorch", "pytorch-compiled")
WITHOUT_TILES = "centavo-without-tiles"
PROGRAMS = {COMPILED: EAGER, WITHOUT_TILES: CENTAVO}
LOSS_TOLERANCE = 0.02
LIMIT_S = 900


@dataclass(frozen=True)
class Job:
    """What one contestant is asked to run; handed over as JSON."""

    preset: str
    precision: str
    sentences: int
    length: int
    vocabulary: int
    warmup_steps: int
    steps: int
    processes: int


def torch_python() -> Path:
    """Returns the Python of PyTorch's own environment, which is made when it is missing."""
    environment = ROOT / ".venv-bench"
    python = environment / "bin" / "python"
    if not python.exists() or subprocess.run([python, "-c", "import torch, numpy"], check=False).returncode:
        print(f"making {environment.name} with {TORCH} (some minutes, once)", flush=True)
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", TORCH, "numpy"], check=True)
    return python


def command_of(contestant: str, job: Job) -> list[str]:
    """Returns the command that starts the contestant on this machine."""
    program = PROGRAMS.get(contestant, contestant)
    asked = {**asdict(job), "compiled": contestant == COMPILED}
    arguments = [str(CONTESTANTS / f"{program}.py"), json.dumps(asked)]
    if program == EAGER:
        return [str(torch_python()), *arguments]
    if job.processes == 1:
        return [sys.executable, "-W", "ignore", *arguments]
    horovodrun = str(Path(sys.executable).with_name("horovodrun"))
    hosts = ["-np", str(job.processes), "-H", f"localhost:{job.processes}", "--gloo", "--network-interfaces", "lo"]
    return [horovodrun, *hosts, sys.executable, "-W", "ignore", *arguments]


def run(contestant: str, job: Job) -> dict[str, float]:
    """Returns what the contestant's rank 0 prints: target tokens per second of all processes, and the last loss."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    if contestant == WITHOUT_TILES:
        environment[ISA] = "AVX512_CORE_BF16"
    done = subprocess.run(
        command_of(contestant, job),
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=LIMIT_S,
        check=False,
    )
    for line in done.stdout.splitlines():
        if '"tokens_per_s"' in line:
            result: dict[str, float] = json.loads(line[line.index("{") :])
            return result
    raise SystemExit(f"{contestant} failed on {job}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def faster_at_equal_loss(measured: dict[str, list[dict[str, float]]]) -> tuple[str, float]:
    """Returns the precision that counts and its median tokens per second. `measured` has the rounds by precision.

    A precision counts when its loss is that of the first one, which is float32 unless others are asked for.
    """
    loss = statistics.median(one["loss"] for one in next(iter(measured.values())))
    medians = {
        precision: statistics.median(one["tokens_per_s"] for one in rounds)
        for precision, rounds in measured.items()
        if abs(statistics.median(one["loss"] for one in rounds) - loss) <= LOSS_TOLERANCE * loss
    }
    best = max(medians, key=lambda precision: medians[precision])
    return best, medians[best]


def measure(preset: str, processes: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Makes all rounds of one model with one number of processes, in turns."""
    contestants = (*WAYS, WITHOUT_TILES) if arguments.without_tiles else WAYS
    rounds: dict[str, dict[str, list[dict[str, float]]]] = {
        contestant: {precision: [] for precision in arguments.precisions} for contestant in contestants
    }
    sentences, length = MODELS[preset]
    for _ in range(arguments.rounds):
        for precision in arguments.precisions:
            for contestant, by_precision in rounds.items():
                job = Job(preset, precision, sentences, length, 8000, 3, arguments.steps, processes)
                by_precision[precision].append(run(contestant, job))
    best = {contestant: faster_at_equal_loss(by_precision) for contestant, by_precision in rounds.items()}
    fastest = max(best[EAGER][1], best[COMPILED][1])
    return {
        **{contestant: {"tokens_per_s": round(speed), "precision": low} for contestant, (low, speed) in best.items()},
        "ratio": round(best[CENTAVO][1] / fastest, 2),
        "rounds": rounds,
    }


def table(results: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Returns the results as a table: target tokens per second by model and processes."""
    measured = {way for by_processes in results.values() for one in by_processes.values() for way in one}
    ways = [way for way in (*WAYS, WITHOUT_TILES) if way in measured]
    heads = "".join(f"{f'{contestant} (tokens/s)':>35}" for contestant in ways)
    lines = [f"{'model':6} {'processes':>9}{heads} {'ratio':>6}"]
    for preset, by_processes in results.items():
        for processes, one in by_processes.items():
            speeds = [f"{one[way]['tokens_per_s']} ({one[way]['precision']})" for way in ways]
            lines.append(f"{preset:6} {processes:>9}{''.join(f'{speed:>35}' for speed in speeds)} {one['ratio']:>6}")
    return "\n".join(lines)


def main() -> None:
    """Measures, prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--precisions", nargs="+", default=list(PRECISIONS), choices=PRECISIONS)
    parser.add_argument("--rounds", type=int, default=3, help="how often the contestants take turns")
    parser.add_argument("--steps", type=int, default=10, help="measured steps of a round")
    parser.add_argument("--without-tiles", action="store_true", help="also Centavo without matrix tiles (Intel's AMX)")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "trainer.json")
    arguments = parser.parse_args()
    torch_python()
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for preset in arguments.models:
        results[preset] = {}
        for processes in arguments.processes:
            results[preset][str(processes)] = measure(preset, processes, arguments)
            arguments.output.parent.mkdir(parents=True, exist_ok=True)
            arguments.output.write_text(json.dumps(results, indent=1) + "\n")
            print(table({preset: {str(processes): results[preset][str(processes)]}}), flush=True)
    print(f"\n{table(results)}\n\n{arguments.output}")


if __name__ == "__main__":
    main()
