"""The options of the commands that read training.yml."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_config(parser: argparse.ArgumentParser) -> None:
    """Adds the file of the settings, and what overrides its keys."""
    parser.add_argument("--config", type=Path, required=True, help="training.yml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
                        help="override a key of training.yml, such as model.layers=2; may be repeated")  # fmt: skip


def add_resume(parser: argparse.ArgumentParser) -> None:
    """Adds whether a training that was begun is continued."""
    parser.add_argument("--resume", action="store_true",
                        help="continue from the newest usable checkpoint of the storage; without it the training "
                             "begins anew, and removes the checkpoints that are there")  # fmt: skip
