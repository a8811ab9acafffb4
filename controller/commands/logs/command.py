"""`centavo logs`: what ranks, launcher, controller and boots have written, from CloudWatch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from controller.commands.context import Context
from controller.commands.logs.following import LOOK_EVERY_S, Follower
from controller.commands.logs.log_lines import Wanted, as_json, as_text
from controller.commands.shared.command import Command
from controller.config.constraints import parse_duration
from controller.domain import Instance
from controller.domain.errors import CentavoError, ConfigError, StoppedError
from controller.domain.times import parse_time
from controller.edges.account.logs import LogLine, Logs
from controller.edges.aws import Aws
from controller.edges.clock import Clock
from controller.shipping.streams import group_of, rank_name

FOLLOWED_S = 600.0
"""How old the first lines are that --follow shows, unless a person says so."""
MOST_NAMED = 12


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds which lines, of which logs, and in which form."""
    parser.add_argument("--follow", "-f", action="store_true", help="go on with new lines until Ctrl-C")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--rank", type=int, metavar="N", help="only this rank's log, on whatever nodes it was")
    which.add_argument(
        "--stream",
        metavar="NAME",
        help="only this log: controller, launcher; or worker, supervisor, boot, of all nodes or of one (boot-INSTANCE)",
    )
    parser.add_argument("--grep", default="", metavar="TEXT", help="only lines that contain this text")
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="only lines that are not older: 90s, 10m or 2h30m ago, or 2026-11-21T18:00:00Z"
        " (default: the whole run; with --follow: 10m)",
    )
    parser.add_argument("--run", metavar="RUN", help="the run (default: the latest that has logs)")
    parser.add_argument("--json", action="store_true", help="a JSON object for each line")


def logs(context: Context, options: argparse.Namespace) -> int:
    """Prints the lines that the options ask for."""
    since = since_of(options.since, context.clock.now(), options.follow)
    cluster, region = context.environment.settings.cluster, context.environment.settings.aws.region
    source = Logs(region, group_of(cluster))
    try:
        if options.follow:
            _follow(context.clock, options, source, since, partial(Aws(region).instances, cluster))
        else:
            _show(context.clock, options, source, since)
    except StoppedError:
        pass
    except BrokenPipeError:  # nobody reads on, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _show(clock: Clock, options: argparse.Namespace, source: Logs, since: float) -> None:
    """Prints what there is, or says why there is nothing."""
    run = options.run or source.latest_run()
    if run is None:
        print(f"There are no logs yet in {source.group}: no run has prepared its nodes.", file=sys.stderr)
    elif _follower(clock, options, source, since, run).look() == 0:
        _tell_nothing(source, run, _wanted(options, run))


def _follow(
    clock: Clock, options: argparse.Namespace, source: Logs, since: float, instances: Callable[[], Sequence[Instance]]
) -> None:
    """Prints what there is and what comes: of the run that was asked for, or of the latest one and those after it.

    Raises:
        StoppedError: A person has stopped it.
    """
    run = options.run or source.latest_run()
    if run is None:
        print(f"There are no logs yet in {source.group}. This command waits for them.", file=sys.stderr, flush=True)
    while True:
        while run is None:
            clock.sleep(LOOK_EVERY_S)
            run = source.latest_run()
        follower = _follower(clock, options, source, since, run)
        follower.look()
        run = follower.follow(clock, instances, (lambda: options.run) if options.run else source.latest_run)


def _follower(clock: Clock, options: argparse.Namespace, source: Logs, since: float, run: str) -> Follower:
    show = partial(_print, as_json if options.json else as_text, run)
    return Follower(source, run, _wanted(options, run), show, since, clock.now())


def _wanted(options: argparse.Namespace, run: str) -> Wanted:
    log = options.stream or ("" if options.rank is None else rank_name(run, options.rank))
    return Wanted(log, options.grep)


def since_of(text: str | None, now: float, is_followed: bool) -> float:
    """Returns the time from which on lines are shown, in seconds since the epoch. Raises ConfigError."""
    if text is None:
        return now - FOLLOWED_S if is_followed else 0.0
    duration_s = parse_duration(text)
    try:
        return parse_time(text) if duration_s is None else now - duration_s
    except ValueError as error:
        raise ConfigError(
            f"--since {text} is no time.",
            "Give how long ago, such as 90s, 10m or 2h30m, or a time such as 2026-11-21T18:00:00Z.",
        ) from error


def _print(form: Callable[[str, LogLine], str], run: str, line: LogLine) -> None:
    print(form(run, line), flush=True)


def _tell_nothing(source: Logs, run: str, wanted: Wanted) -> None:
    """Says why nothing was printed. Raises CentavoError where the run has no such log."""
    names = source.of_run(run)
    if names and not any(wanted.is_of(name) for name in names):
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        raise CentavoError(f"The run {run} has no log {wanted.log}.", f"It has {', '.join(names[:MOST_NAMED])}{more}.")
    what = "no line that was asked for" if names else "no logs"
    print(f"The run {run} has {what} in {source.group}.", file=sys.stderr)


COMMAND = Command("logs", "what ranks, launcher, controller and boots have written (CloudWatch)", logs, add_options)
