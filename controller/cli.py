"""The command `centavo`. Exit codes: 0 done; 1 to 13 the errors of `controller.domain.errors`; 130 stopped by a person.

`centavo review` (or `plan`) ends with 0 when nothing would change, 2 when something would, 3 when the guard refuses it.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from controller.commands.context import Context, open_context
from controller.commands.looking import add_looking
from controller.commands.reviewing import add_propose, add_review, admit
from controller.commands.running import add_destroy, add_running
from controller.domain.errors import CentavoError, JournalError, StoppedError
from controller.edges.clock import SystemClock
from controller.record.live.events import PlainReporter
from controller.simulate.cli import add_parser as add_simulate

Command = Callable[[Context, argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code. Errors that a person can do something about are told without a traceback."""
    options = parser().parse_args(arguments)
    if "standalone" in options:  # needs no environment
        code: int = options.standalone(options)
        return code
    clock = SystemClock()
    try:
        with clock.listening():
            context = open_context(Path(options.root), options.env, PlainReporter(), clock)
            context.admit = partial(admit, context)
            command: Command = options.command
            return command(context, options)
    except CentavoError as error:
        print(_told(error, clock), file=sys.stderr)
        return StoppedError.exit_code if clock.is_stopping() else error.exit_code
    except sqlite3.DatabaseError as error:
        print(_told(_damaged(error, Path(options.root)), clock), file=sys.stderr)
        return JournalError.exit_code
    except KeyboardInterrupt:
        print(_HOW_TO_GO_ON, file=sys.stderr)
        return StoppedError.exit_code


def _damaged(error: sqlite3.DatabaseError, root: Path) -> JournalError:
    """A journal that opened, and turns out to be damaged while it is read or written."""
    return JournalError(
        f"A journal under {root.resolve() / 'runs'} can't be read or written: {error}.",
        "See that the disk has room. Where the run was copied, copy its folder again, while nothing writes to it; else"
        " move that folder away.",
    )


_HOW_TO_GO_ON = (
    "centavo: stopped. The fleet stays as it is, and a training that runs goes on (and costs money).\n"
    "  `centavo optimize` (make optimize) carries on; `centavo destroy` (make destroy) ends it all."
)


def _told(error: CentavoError, clock: SystemClock) -> str:
    """A person who has stopped a command is not told of the failures that stopping caused."""
    return _HOW_TO_GO_ON if clock.is_stopping() else f"centavo: {error}"


class CommandLine(argparse.ArgumentParser):
    """Wrong usage ends with 1: argparse's own 2 is `review`'s word for "something changes"."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    result = CommandLine(
        prog="centavo", description="Trains on the cheapest EC2 fleet, and moves the training there while it runs."
    )
    result.add_argument(
        "--env",
        default=os.environ.get("ENV", "local"),
        help="the environment under terraform/environments (default: $ENV, else local)",
    )
    result.add_argument("--root", default=".", help="the root of the repository (default: the current directory)")
    commands = result.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add = partial(_add, commands)
    add_running(add)
    add_review(commands)
    add_propose(commands)
    add_looking(add)
    add_simulate(commands)
    add_destroy(add)
    return result


def _add(commands: Any, name: str, function: Command, purpose: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(name, help=purpose, description=f"{name}: {purpose}.")
    added.set_defaults(command=function)
    return added
