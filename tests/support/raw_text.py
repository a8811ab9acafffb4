"""Raw parallel text for tests of preparing."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer.data.corpus.generated import distinct_pairs
from trainer.settings.preparation import PreparationSettings
from trainer.settings.section import section_from

PAIRS = [pair for pair in distinct_pairs(500, "en", "pt", seed=5) if pair[0] != pair[1]][:460]


def write_side(path: Path, lines: Sequence[str]) -> str:
    """Writes a side of parallel text, plain or .gz. Returns its path."""
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)


def write_pairs(folder: Path, name: str, pairs: Sequence[tuple[str, str]], suffix: str = "") -> dict[str, str]:
    """Writes two parallel files. Returns them as the settings name them."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        side: write_side(folder / f"{name}.{side}{suffix}", [pair[number] for pair in pairs])
        for number, side in enumerate(("source", "target"))
    }


def preparation(folder: Path, **keys: Any) -> PreparationSettings:
    """Settings that prepare 400 generated pairs in `folder`, 30 for validation and 30 for the test."""
    raw = folder / "raw"
    texts = {
        "train": [write_pairs(raw, "train", PAIRS[:400], ".gz")],
        "validation": [write_pairs(raw, "validation", PAIRS[400:430])],
        "test": [write_pairs(raw, "test", PAIRS[430:])],
    }
    return section_from(
        PreparationSettings,
        {
            "source": "en",
            "target": "pt",
            "output": str(folder / "corpus"),
            "work": str(folder / "work"),
            "vocabulary": {"size": 400},
            "filters": {"near_duplicates": False},
            "shard_pairs": 150,
            **texts,
            **keys,
        },
    )
