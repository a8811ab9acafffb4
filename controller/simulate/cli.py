"""The options of `centavo simulate`. What it does is imported only when asked for: plotting takes a second to load."""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path
from typing import Any

PRICES_VARIABLE = "CENTAVO_PRICES_CSV"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add `simulate` to the commands of `centavo`; the options' `standalone` takes them and gives the exit code."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "simulate",
        help="try policies on simulated trainings, side by side",
        description="Simulate fleet, training and prices around the real decision function, and compare policies.",
    )
    parser.add_argument("scenarios", nargs="*", type=Path, help="scenario files (YAML)")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="also N scenarios at random")
    parser.add_argument("--seed", type=int, default=1, help="the first random scenario's seed (default 1)")
    parser.add_argument("--policy", action="append", metavar="NAME", help="a policy to compare (default: all)")
    parser.add_argument(
        "--prices",
        type=Path,
        default=os.environ.get(PRICES_VARIABLE),
        help=f"price list with the columns instance_type,usd_per_hour (default: ${PRICES_VARIABLE})",
    )
    parser.add_argument("--output", type=Path, default=Path("runs/simulate"), help="where the plots go")
    parser.add_argument("--no-plot", action="store_true", help="only the tables")
    parser.set_defaults(standalone=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Simulate as the options say. The exit code is 2 for scenarios, prices or policies that cannot be used."""
    code: int = import_module("controller.simulate.command").run(args)
    return code
