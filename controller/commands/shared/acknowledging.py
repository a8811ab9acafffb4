"""The option by which a person says that a dangerous change is meant."""

from __future__ import annotations

import argparse

from controller.review.plans.dangers import Danger


def add_acknowledge_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--acknowledge`, which may be given more than once."""
    parser.add_argument(
        "--acknowledge",
        action="append",
        default=[],
        choices=[danger.value for danger in Danger],
        help="say that this dangerous change is meant; may be given more than once",
    )


def acknowledged_by(options: argparse.Namespace) -> frozenset[Danger]:
    """Returns what the options acknowledge."""
    return frozenset(map(Danger, options.acknowledge))
