"""The settings of a training that takes a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainer.settings.section import section_from
from trainer.settings.training import Settings

CORPUS = {"kind": "generated", "pairs": 400, "held_out": 12}


def small(directory: Path, **sections: Any) -> Settings:
    """Settings of a training that keeps everything in `directory`."""
    return section_from(
        Settings,
        {
            "stop": {"steps": 12},
            "storage": str(directory / "storage"),
            "cache": str(directory / "cache"),
            "corpus": CORPUS,
            "vocabulary": {"size": 400},
            "model": {"preset": "tiny", "layers": 1, "units": 16, "hidden": 16, "heads": 2, "dropout": 0.2},
            "batch": {"tokens": 256, "max_tokens": 120},
            "checkpoint": {"every_steps": 4},
            "translate": {"beam_size": 1, "max_length": 8},
            "facts": {"path": str(directory / "facts.d")},
            **sections,
        },
    )
