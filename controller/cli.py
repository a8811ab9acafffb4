"""The command `centavo`. Exit codes: 0 done; 1 to 19 the errors of `controller.domain.errors`; 130 stopped by a person.

`centavo review` (or `plan`) ends with 0 when nothing would change, 2 when something would, 3 when the guard refuses it.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from controller.commands import (
    apply,
    configure,
    destroy,
    optimize,
    propose,
    reap,
    review,
    simulate,
    stop,
    take_over,
    train,
)
from controller.commands.context import open_context
from controller.commands.logs import command as logs
from controller.commands.looking import explain, facts, picture, report, status, watch
from controller.commands.shared.command import Command, StandaloneCommand
from controller.commands.shared.judged_plan import admit
from controller.domain.errors import CentavoError, JournalError, StoppedError
from controller.edges.clock import SystemClock
from controller.record.live.reporter import PlainReporter
from controller.record.live.run_log import LogFormat, error_line

COMMANDS: tuple[Command | StandaloneCommand, ...] = (
    apply.COMMAND,
    configure.COMMAND,
    train.COMMAND,
    optimize.COMMAND,
    review.COMMAND,
    propose.COMMAND,
    status.COMMAND,
    facts.COMMAND,
    explain.COMMAND,
    report.COMMAND,
    picture.COMMAND,
    watch.COMMAND,
    logs.COMMAND,
    simulate.COMMAND,
    reap.COMMAND,
    take_over.COMMAND,
    stop.COMMAND,
    destroy.COMMAND,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Prints errors that a person can correct without a traceback."""
    options = parser().parse_args(arguments)
    if "standalone" in options:
        code: int = options.standalone(options)
        return code
    clock = SystemClock()
    try:
        with clock.listening():
            return _run(options, clock)
    except CentavoError as error:
        is_json = getattr(options, "log_format", None) == LogFormat.JSON.value and not clock.is_stopping()
        print(error_line(clock.now(), error) if is_json else _told(error, clock), file=sys.stderr)
        return StoppedError.exit_code if clock.is_stopping() else error.exit_code
    except sqlite3.DatabaseError as error:
        print(_told(_damaged(error, Path(options.root)), clock), file=sys.stderr)
        return JournalError.exit_code
    except KeyboardInterrupt:
        print(_HOW_TO_GO_ON, file=sys.stderr)
        return StoppedError.exit_code


def _run(options: argparse.Namespace, clock: SystemClock) -> int:
    context = open_context(Path(options.root), options.env, PlainReporter(), clock)
    context.admit = partial(admit, context)
    with ExitStack() as stack:
        if options.alone is not None:
            stack.enter_context(context.owner.alone(options.alone))
        code: int = options.command(context, options)
    return code


def _damaged(error: sqlite3.DatabaseError, root: Path) -> JournalError:
    """Returns the error of a journal that opens, and turns out to be damaged while it is read or written."""
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
    """Returns the error as a person reads it. Failures that stopping a command has caused are left out."""
    return _HOW_TO_GO_ON if clock.is_stopping() else f"centavo: {error}"


class CommandLine(argparse.ArgumentParser):
    """A parser that ends with 1 on wrong usage: argparse's own 2 is `review`'s exit code for "something changes"."""

    def error(self, message: str) -> NoReturn:
        """Prints how the command is used, and exits."""
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Returns the parser of all commands with their options."""
    result = CommandLine(
        prog="centavo", description="Trains on the cheapest EC2 fleet, and moves the training there while it runs."
    )
    result.add_argument(
        "--env",
        default=os.environ.get("ENV", "local"),
        help="the environment under terraform/environments (default: $ENV, else local)",
    )
    result.add_argument("--root", default=".", help="the root of the repository (default: the current directory)")
    subparsers = result.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        _add(subparsers, command)
    return result


def _add(subparsers: Any, command: Command | StandaloneCommand) -> None:
    if isinstance(command, StandaloneCommand):
        added = subparsers.add_parser(command.name, help=command.purpose, description=command.description)
        added.set_defaults(standalone=command.run)
    else:
        about = f"{command.name}: {command.purpose}."
        added = subparsers.add_parser(command.name, aliases=command.aliases, help=command.purpose, description=about)
        added.set_defaults(command=command.run, alone=f"centavo {command.name}" if command.changes_things else None)
    command.add_options(added)
