"""The options of the commands that translate and score. Settings are imported when a command asks for them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.settings.training import TranslateSettings


def add_model(parser: argparse.ArgumentParser) -> None:
    """Adds the folder of the trained model."""
    parser.add_argument(
        "--model", type=Path, required=True, help="a directory with model.params, model.json and vocabulary"
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the beam search, which `search_of` reads."""
    search = parser.add_argument_group("beam search", "defaults as in training.yml (see `train --help`, translate)")
    search.add_argument("--beam-size", type=int, help="hypotheses that are kept at each step")
    search.add_argument("--alpha", type=float, help="alpha of the length penalty; 0: no penalty")
    search.add_argument("--k", type=float, help="k of the length penalty ((k + length) / (k + 1)) ** alpha")


def search_of(options: argparse.Namespace) -> TranslateSettings:
    """Returns the beam search that was asked for. Raises ValueError for a value that it cannot have."""
    from trainer.settings.section import section_from  # noqa: PLC0415
    from trainer.settings.training import TranslateSettings  # noqa: PLC0415

    asked = {name: getattr(options, name) for name in ("beam_size", "alpha", "k")}
    return section_from(TranslateSettings, {name: value for name, value in asked.items() if value is not None})


def add_scoring(parser: argparse.ArgumentParser) -> None:
    """Adds how sacreBLEU counts."""
    parser.add_argument("--tokenize", default="13a", choices=("13a", "none", "intl", "char"),
                        help="how sacreBLEU cuts text into words; none for tokenised text (default: 13a)")  # fmt: skip
    parser.add_argument("--lowercase", action="store_true", help="ignore case")
