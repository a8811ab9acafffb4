"""What it costs to prepare a corpus and to read it, at several sizes.

    python -m tests.bench.bench_data [--pairs 50000 500000] [--processes 2] [--folder FOLDER] [--output FILE]

The text is made by `tests/support/realistic_text.py`. For each size, in the same run:

- prepare: sentences a second of the whole preparation, with a vocabulary that is there, and of SentencePiece's own
  encoder on some of them with as many threads, before and after it. At least 0.8, reading included. `resident_mb` is
  the most that the main process had, mapped files included.
- memory: the resident memory of a process that reads the corpus, above that of one which has imported the same and read
  nothing. At most 600 MB, and the same for any size.
- newcomer: seconds from opening the corpus to the first batch, in the middle of the third epoch. At most 20.
- reading: batches a second from the shards, beside those of the same text in memory.
- training: tokens a second of `tiny` on the shards, beside those on the same text in memory: at least 0.97. The next
  shard is opened meanwhile.

Each is measured in a process of its own, since memory that was used once does not come back. Speeds are compared by
processor time, in pairs that follow each other, since other processes slow the clock down. The ratio of clock time is
shown beside it.

With --folder, texts and corpora stay there (5,000,000 pairs: 6 GB), and a run that was broken off is continued: what
was measured is not measured again. The output keeps the sizes that it has.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = 40_000
"""Sentences that SentencePiece's own encoder is timed on."""
ALONE_S = 5.0
"""Seconds of processor time that SentencePiece encodes alone before the preparation, and after it."""
ROUNDS = 5
READ_STEPS = 400
TRAIN_STEPS, TRAIN_WARMUP = 20, 3
BATCH_TOKENS, TRAIN_BATCH_TOKENS = 4096, 1024
LEAST_RATIO, MOST_MB, MOST_NEWCOMER_S, LEAST_THROUGHPUT = 0.8, 600, 20.0, 0.97


def _settings(folder: Path, **keys: Any) -> Any:
    from trainer.settings.preparation import PreparationSettings
    from trainer.settings.section import section_from

    train = [{"source": str(folder / "text.en"), "target": str(folder / "text.de")}]
    base = {"source": "en", "target": "de", "train": train, "held_out": 1000, "output": str(folder / "corpus")}
    vocabulary = {"size": 8000, "taken": str(folder / "model")}
    return section_from(PreparationSettings, {**base, "work": str(folder / "work"), "vocabulary": vocabulary, **keys})


def measure_prepare(folder: Path, processes: int) -> dict[str, float]:
    """Prepares the corpus, and encodes a part of its sentences by SentencePiece alone, before and after."""
    from trainer.preparing.prepare import prepare_corpus

    for left in ("corpus", "work"):
        shutil.rmtree(folder / left, ignore_errors=True)
    before = _sentencepiece_alone(folder, processes)
    began, cpu_began = time.perf_counter(), _processor_s()
    manifest = prepare_corpus(_settings(folder), processes)
    prepare_s, prepare_cpu_s = time.perf_counter() - began, _processor_s() - cpu_began
    resident_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    alone, alone_s, alone_cpu_s = map(sum, zip(before, _sentencepiece_alone(folder, processes), strict=True))
    sentences = 2 * manifest.prepared["filters"]["read"]["train"]
    return {
        "prepare_s": prepare_s,
        "processor_s": prepare_cpu_s,
        "sentences_per_s": sentences / prepare_s,
        "sentencepiece_sentences_per_s": alone / alone_s,
        "ratio": sentences / prepare_s / (alone / alone_s),
        "ratio_of_processor_time": sentences / prepare_cpu_s / (alone / alone_cpu_s),
        "resident_mb": resident_mb,
    }


def _sentencepiece_alone(folder: Path, processes: int) -> tuple[float, float, float]:
    """Encodes some of the sentences again and again. Returns how many, the seconds, and those of processor time."""
    import itertools

    import sentencepiece

    with (folder / "text.en").open() as source, (folder / "text.de").open() as target:
        some = [line.strip() for file in (source, target) for line in itertools.islice(file, SAMPLE // 2)]
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "model"))
    began, cpu_began, alone = time.perf_counter(), _processor_s(), 0
    while _processor_s() - cpu_began < ALONE_S:
        model.Encode(some, num_threads=processes)
        alone += len(some)
    return alone, time.perf_counter() - began, _processor_s() - cpu_began


def _processor_s() -> float:
    """Returns the processor time of this process and of its children that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _stream(folder: Path, in_memory: bool = False, tokens: int = BATCH_TOKENS) -> Any:
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
    return BatchStream(shards, BatchSettings(tokens=tokens), 1, vocabulary.pad_id)


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

    began, cpu_began = time.perf_counter(), time.process_time()
    stream = _stream(folder)
    stream.parts_at(stream.batches_per_epoch * 5 // 2, Cut(1, (0.5, 0.5)))
    return {"ready_s": time.perf_counter() - began, "processor_s": time.process_time() - cpu_began}


def measure_reading(folder: Path, _: int) -> dict[str, float]:
    """Reads batches from shards and from memory, in turns."""
    streams = {in_memory: _stream(folder, in_memory) for in_memory in (False, True)}

    def read(in_memory: bool) -> int:
        stream = streams[in_memory]
        steps = min(READ_STEPS, stream.batches_per_epoch - 1)
        for _ in range(steps):
            stream.next()
        return steps

    for stream in streams.values():
        stream.seek(0, _whole_batches())
    shards, memory, ratios = _by_turns(read)
    return {"batches_per_s": shards, "in_memory_batches_per_s": memory, **ratios}


def measure_training(folder: Path, _: int) -> dict[str, float]:
    """Trains `tiny` on shards and on memory, in turns."""
    steps = {in_memory: _training_step(folder, in_memory) for in_memory in (False, True)}
    for make_step in steps.values():
        for _ in range(TRAIN_WARMUP):
            make_step()
    shards, memory, ratios = _by_turns(lambda in_memory: sum(steps[in_memory]() for _ in range(TRAIN_STEPS)))
    return {"tokens_per_s": shards, "in_memory_tokens_per_s": memory, **ratios}


def _by_turns(work: Callable[[bool], int]) -> tuple[float, float, dict[str, float]]:
    """Works on shards and on memory in turns, of which each comes first as often.

    Returns:
        The best speeds of both by the clock, and the medians of the ratios of speeds that followed each other.
    """
    speeds: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for number in range(ROUNDS):
        for in_memory in (False, True) if number % 2 == 0 else (True, False):
            clock, processor = time.perf_counter(), time.process_time()
            done = work(in_memory)
            speeds[in_memory].append((done / (time.perf_counter() - clock), done / (time.process_time() - processor)))
    by_clock, by_processor = (
        statistics.median(one[kind] / other[kind] for one, other in zip(speeds[False], speeds[True], strict=True))
        for kind in (0, 1)
    )
    best = [max(of_clock for of_clock, _ in speeds[in_memory]) for in_memory in (False, True)]
    return best[0], best[1], {"ratio": by_clock, "ratio_of_processor_time": by_processor}


def _whole_batches() -> Any:
    from trainer.data.batch_stream import Cut

    return Cut()


def _training_step(folder: Path, in_memory: bool) -> Callable[[], int]:
    import mxnet as mx
    from mxnet import autograd

    from trainer.model.allocation import reuse_memory
    from trainer.model.build import build
    from trainer.settings.model import ModelSettings
    from trainer.training.batch_arrays import arrays_of

    reuse_memory()
    stream = _stream(folder, in_memory, TRAIN_BATCH_TOKENS)
    model = build(ModelSettings(preset="tiny", max_length=256), 8000)
    shard_batches = stream.batches_per_epoch // len(list((folder / "corpus" / "train").glob("*.ids")))
    stream.seek(max(0, shard_batches // 2 - TRAIN_STEPS), _whole_batches())  # the next one is opened at its middle

    def make_step() -> int:
        (part,) = stream.next()
        with autograd.record():
            loss, _ = model.loss(*arrays_of(part))
        loss.backward()
        mx.nd.waitall()
        return int(part.target_tokens)

    return make_step


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
    """Makes the text of one size and takes the measures that the folder lacks."""
    _make_text(folder, pairs)
    kept = folder / "measured.json"
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    for name in [one for one in measures if one not in results]:
        results[name] = measured(name, folder, processes)
        kept.write_text(json.dumps(results))
        print(f"  {name}: {json.dumps(results[name])}", flush=True)
    return results


def _make_text(folder: Path, pairs: int) -> None:
    """Writes the text, and a vocabulary that is learned from its beginning, unless they are there."""
    from tests.support.realistic_text import write_parallel
    from trainer.data.vocabulary import Vocabulary
    from trainer.files.atomic import write_atomically

    if (folder / "model").exists():
        return
    began = time.perf_counter()
    source, target = write_parallel(folder, pairs)
    print(f"{pairs:,} pairs: {source.stat().st_size + target.stat().st_size:,} bytes of text "
          f"in {time.perf_counter() - began:.0f} s", flush=True)  # fmt: skip
    with source.open() as first, target.open() as second:
        texts = [line.strip() for file in (first, second) for line, _ in zip(file, range(5_000), strict=False)]
    write_atomically(folder / "model", Vocabulary.learn(texts, 8000).model)


def shortfalls(results: dict[str, dict[str, Any]]) -> list[str]:
    """Returns in which respects the results fall short of what they should be."""
    limits: list[tuple[str, str, Callable[[float], bool]]] = [
        ("prepare", "ratio_of_processor_time", lambda value: value >= LEAST_RATIO),
        ("memory", "resident_mb", lambda value: value <= MOST_MB),
        ("newcomer", "ready_s", lambda value: value <= MOST_NEWCOMER_S),
        ("training", "ratio_of_processor_time", lambda value: value >= LEAST_THROUGHPUT),
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
    parser.add_argument("--folder", type=Path, help="where texts and corpora lie and stay (default: nowhere)")
    parser.add_argument("--measure", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "data.json")
    options = parser.parse_args()
    if options.measure is not None:
        name, folder = options.measure
        print(json.dumps(MEASURES[name](Path(folder), options.processes)))
        return 0
    options.output.parent.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, Any]] = json.loads(options.output.read_text()) if options.output.exists() else {}
    for pairs in options.pairs:
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory) if options.folder is None else options.folder / str(pairs)
            results[str(pairs)] = bench(pairs, options.processes, options.only, folder)
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    problems = shortfalls({str(pairs): results[str(pairs)] for pairs in options.pairs})
    print("\n".join(problems) if problems else "all as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
