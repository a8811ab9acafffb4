"""`centavo simulate`: tries policies on simulated trainings, side by side."""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path

from controller.commands.shared.command import StandaloneCommand

PRICES_VARIABLE = "CENTAVO_PRICES_CSV"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the scenarios, the policies, the prices, and where the plots go."""
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


def simulate(options: argparse.Namespace) -> int:
    """Simulates as the options say. The exit code is 2 for scenarios, prices or policies that can't be used."""
    # plotting and the bayesian policy take seconds to import, which other commands need not wait for
    code: int = import_module("controller.simulate.command").run(options)
    return code


COMMAND = StandaloneCommand(
    "simulate",
    "try policies on simulated trainings, side by side",
    "Simulate fleet, training and prices around the real decision function, and compare policies.",
    simulate,
    add_options,
)
