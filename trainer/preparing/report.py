"""What a preparation tells: how many pairs were left out and why, with some of them, and what the corpus has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from trainer.data.prepared.manifest import SPLITS, Manifest
from trainer.preparing.cleaning.chunk import SAMPLES, ChunkSummary, Dropped
from trainer.preparing.cleaning.filters import Reason
from trainer.preparing.duplicates import Verdicts

WIDTH = 60


def report_of(chunks: Iterable[ChunkSummary], verdicts: Verdicts) -> dict[str, Any]:
    """Returns what the filters have done: pairs read by split, pairs dropped by reason, and some of them."""
    read: Counter[str] = Counter()
    dropped: Counter[str] = Counter(verdicts.dropped)
    samples: list[Dropped] = []
    for chunk in chunks:
        read[chunk.split] += chunk.read
        dropped.update(chunk.dropped)
        samples += chunk.samples
    samples += verdicts.samples
    reasons = [reason.value for reason in Reason if dropped[reason.value]]
    return {
        "read": {split: read[split] for split in SPLITS},
        "dropped": {reason: dropped[reason] for reason in reasons},
        "samples": [
            asdict(one) for reason in reasons for one in [one for one in samples if one.reason == reason][:SAMPLES]
        ],
    }


def told(manifest: Manifest) -> str:
    """Returns the report for a person."""
    report: Mapping[str, Any] = manifest.prepared["filters"]
    read = sum(report["read"].values())
    lines = [f"{read:,} pairs were read. Of these were left out:"]
    for reason, count in report["dropped"].items():
        lines.append(f"  {reason:15} {count:>12,}  {count / read:7.2%}")
        lines += [_sample(one) for one in report["samples"] if one["reason"] == reason]
    if not report["dropped"]:
        lines.append("  none")
    shards = {split: len(manifest.splits[split]) for split in SPLITS}
    kept = ", ".join(f"{manifest.pairs(split):,} for {split} (shards: {shards[split]})" for split in SPLITS)
    lines.append(f"The corpus has {kept}; its vocabulary has {manifest.vocabulary.pieces:,} pieces.")
    return "\n".join(lines)


def _sample(one: Mapping[str, str]) -> str:
    sides = (one["source"], one["target"])
    source, target = (text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…" for text in sides)
    return f"      {one['place']}: {source!r} | {target!r}"
