"""What it costs to prepare a corpus and to read it, at several sizes.

    python -m tests.bench.bench_data [--pairs 50000 500000] [--processes 2] [--output runs/bench/data.json]

The text is made by `tests/support/realistic_text.py`. For each size, in the same run:

- prepare: sentences a second of the whole preparation, with a vocabulary that is there, and of SentencePiece's own
  encoder on some of them with as many threads. The ratio is what counts: at least 0.8, reading included.
- memory: the resident memory of a process that reads the corpus, above that of one which has imported the same and read
  nothing. At most 600 MB, and the same for any size.
- newcomer: seconds from opening the corpus to the first batch, in the middle of the third epoch. At most 20.
- reading: batches a second from the shards, beside those of the same text in memory.
- training: tokens a second of `tiny` on the shards, beside those on the same text in memory: at least 0.97.

Each is measured in a process of its own, since memory that was used once does not come back.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = 200_000
"""Sentences that SentencePiece's own encoder is timed on."""
READ_STEPS = 400
TRAIN_STEPS, TRAIN_WARMUP = 30, 5
BATCH_TOKENS = 4096
LEAST_RATIO, MOST_MB, MOST_NEWCOMER_S, LEAST_THROUGHPUT = 0.8, 600, 20.0, 0.97


def _settings(folder: Path, **keys: Any) -> Any:
    from trainer.settings.preparation import PreparationSettings
    from trainer.settings.section import section_from

    train = [{"source": str(folder / "text.en"), "target": str(folder / "text.de")}]
    base = {"source": "en", "target": "de", "train": train, "held_out": 1000, "output": str(folder / "corpus")}
    vocabulary = {"size": 8000, "taken": str(folder / "model")}
    return section_from(PreparationSettings, {**base, "work": str(folder / "work"), "vocabulary": vocabulary, **keys})


def measure_prepare(folder: Path, processes: int) -> dict[str, float]:
    """Prepares the corpus, and encodes a part of its sentences by SentencePiece alone."""
    import itertools

    import sentencepiece

    from trainer.preparing.prepare import prepare_corpus

    began = time.perf_counter()
    manifest = prepare_corpus(_settings(folder), processes)
    prepare_s = time.perf_counter() - began
    with (folder / "text.en").open() as source, (folder / "text.de").open() as target:
        some = [line.strip() for file in (source, target) for line in itertools.islice(file, SAMPLE // 2)]
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "model"))
    began, alone = time.perf_counter(), 0
    while time.perf_counter() - began < 5.0 or not alone:
        model.Encode(some, num_threads=processes)
        alone += len(some)
    alone_s = time.perf_counter() - began
    sentences = 2 * manifest.prepared["filters"]["read"]["train"]
    return {
        "prepare_s": prepare_s,
        "sentences_per_s": sentences / prepare_s,
        "sentencepiece_sentences_per_s": alone / alone_s,
        "ratio": sentences / prepare_s / (alone / alone_s),
    }


def _stream(folder: Path, in_memory: bool = False) -> Any:
    from tests.support.shards_in_memory import ShardsInMemory
    from trainer.data.batch_stream import BatchStream
    from trainer.data.prepared.prepared_corpus import open_corpus
    from trainer.data.samples import Samples
    from trainer.data.shard import Shard
    from trainer.settings.data import BatchSettings

    corpus = open_corpus(str(folder / "corpus"), folder / "cache")
    vocabulary = corpus.vocabulary()
    shards: Any = corpus.shards("train", vocabulary, with_text=False)
    if in_memory:
        copied = [
            Shard(one.number, Samples(one.samples.ids.copy(), one.samples.starts, one.samples.pieces, 2, 3), None)
            for one in shards.all()
        ]
        shards = ShardsInMemory(*copied)
    return BatchStream(shards, BatchSettings(tokens=BATCH_TOKENS), 1, vocabulary.pad_id)


def measure_memory(folder: Path, _: int) -> dict[str, float]:
    """Reads over shard after shard, and returns how much more memory is resident than before."""
    from trainer.data.batch_stream import Cut
    from trainer.node.memory import resident_bytes

    empty = _resident_of_imports()
    stream = _stream(folder)
    peak, step = 0, 0
    for cursor in range(0, stream.batches_per_epoch, max(1, stream.batches_per_epoch // 200)):
        stream.seek(cursor, Cut())
        for _ in range(4):
            stream.next()
            step += 1
        peak = max(peak, resident_bytes())
    return {"resident_mb": (peak - empty) / 1e6, "batches": step}


def _resident_of_imports() -> int:
    import trainer.data.batch_stream
    import trainer.data.prepared.prepared_corpus
    from trainer.node.memory import resident_bytes

    assert trainer.data is not None
    return resident_bytes()


def measure_newcomer(folder: Path, _: int) -> dict[str, float]:
    """Opens the corpus and makes the first batch in the middle of the third epoch."""
    from trainer.data.batch_stream import Cut

    began = time.perf_counter()
    stream = _stream(folder)
    stream.parts_at(stream.batches_per_epoch * 5 // 2, Cut(1, (0.5, 0.5)))
    return {"ready_s": time.perf_counter() - began}


def measure_reading(folder: Path, _: int) -> dict[str, float]:
    """Reads batches from shards and from memory, in turns."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    streams = {in_memory: _stream(folder, in_memory) for in_memory in rates}
    for _ in range(3):
        for in_memory, stream in streams.items():
            rates[in_memory].append(_batches_per_s(stream))
    mapped, memory = max(rates[False]), max(rates[True])
    return {"batches_per_s": mapped, "in_memory_batches_per_s": memory, "ratio": mapped / memory}


def _batches_per_s(stream: Any) -> float:
    from trainer.data.batch_stream import Cut

    stream.seek(0, Cut())
    stream.next()
    steps, began = min(READ_STEPS, stream.batches_per_epoch - 1), time.perf_counter()
    for _ in range(steps):
        stream.next()
    took_s = time.perf_counter() - began
    stream.close()
    return steps / took_s


def measure_training(folder: Path, _: int) -> dict[str, float]:
    """Trains `tiny` on shards and on memory, in turns: tokens a second of the clock and of processor time."""
    rates: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    steps = {in_memory: _training_step(folder, in_memory) for in_memory in rates}
    for _ in range(3):
        for in_memory, make_step in steps.items():
            rates[in_memory].append(_tokens_per_s(make_step))
    best = {in_memory: max(of_clock for of_clock, _ in found) for in_memory, found in rates.items()}
    least_cpu = {in_memory: max(of_cpu for _, of_cpu in found) for in_memory, found in rates.items()}
    return {
        "tokens_per_s": best[False],
        "in_memory_tokens_per_s": best[True],
        "ratio": best[False] / best[True],
        "ratio_of_processor_time": least_cpu[False] / least_cpu[True],
    }


def _training_step(folder: Path, in_memory: bool) -> Callable[[], int]:
    import mxnet as mx
    from mxnet import autograd

    from trainer.data.batch_stream import Cut
    from trainer.model.allocation import reuse_memory
    from trainer.model.build import build
    from trainer.settings.model import ModelSettings
    from trainer.training.batch_arrays import arrays_of

    reuse_memory()
    stream, model = _stream(folder, in_memory), build(ModelSettings(preset="tiny", max_length=256), 8000)
    stream.seek(0, Cut())

    def make_step() -> int:
        (part,) = stream.next()
        with autograd.record():
            loss, _ = model.loss(*arrays_of(part))
        loss.backward()
        mx.nd.waitall()
        return int(part.target_tokens)

    return make_step


def _tokens_per_s(make_step: Callable[[], int]) -> tuple[float, float]:
    for _ in range(TRAIN_WARMUP):
        make_step()
    clock, processor = time.perf_counter(), time.process_time()
    tokens = sum(make_step() for _ in range(TRAIN_STEPS))
    return tokens / (time.perf_counter() - clock), tokens / (time.process_time() - processor)


MEASURES: dict[str, Callable[[Path, int], dict[str, float]]] = {
    "prepare": measure_prepare,
    "memory": measure_memory,
    "newcomer": measure_newcomer,
    "reading": measure_reading,
    "training": measure_training,
}


def measured(name: str, folder: Path, processes: int) -> dict[str, float]:
    """Returns what a measure comes to in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.bench.bench_data", "--measure", name, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--processes", str(processes)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {key: round(value, 4) for key, value in result.items()}


def bench(pairs: int, processes: int, measures: list[str], folder: Path) -> dict[str, Any]:
    """Makes the text of one size and takes all measures."""
    from tests.support.realistic_text import write_parallel
    from trainer.data.vocabulary import Vocabulary

    began = time.perf_counter()
    source, target = write_parallel(folder, pairs)
    print(f"{pairs:,} pairs: {source.stat().st_size + target.stat().st_size:,} bytes of text "
          f"in {time.perf_counter() - began:.0f} s", flush=True)  # fmt: skip
    with source.open() as first, target.open() as second:
        texts = [line.strip() for file in (first, second) for line, _ in zip(file, range(20_000), strict=False)]
    (folder / "model").write_bytes(Vocabulary.learn(texts, 8000).model)
    results: dict[str, Any] = {}
    for name in measures:
        results[name] = measured(name, folder, processes)
        print(f"  {name}: {json.dumps(results[name])}", flush=True)
    return results


def shortfalls(results: dict[str, dict[str, Any]]) -> list[str]:
    """Returns in which respects the results fall short of what they should be."""
    limits: list[tuple[str, str, Callable[[float], bool]]] = [
        ("prepare", "ratio", lambda value: value >= LEAST_RATIO),
        ("memory", "resident_mb", lambda value: value <= MOST_MB),
        ("newcomer", "ready_s", lambda value: value <= MOST_NEWCOMER_S),
        ("training", "ratio", lambda value: value >= LEAST_THROUGHPUT),
    ]
    return [
        f"{pairs} pairs: {measure}.{key} is {one[measure][key]}"
        for pairs, one in results.items()
        for measure, key, is_good in limits
        if measure in one and not is_good(one[measure][key])
    ]


def main() -> int:
    """Measures, prints and keeps the results; 1 where one falls short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[50_000, 500_000])
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--measure", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "data.json")
    options = parser.parse_args()
    if options.measure is not None:
        name, folder = options.measure
        print(json.dumps(MEASURES[name](Path(folder), options.processes)))
        return 0
    results: dict[str, dict[str, Any]] = {}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    for pairs in options.pairs:
        with tempfile.TemporaryDirectory() as directory:
            results[str(pairs)] = bench(pairs, options.processes, options.only, Path(directory))
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    problems = shortfalls(results)
    print("\n".join(problems) if problems else "all as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
