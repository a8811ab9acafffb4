"""The command line: `python -m localcloud up|env|status|fault|down`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from localcloud.commands.down import down
from localcloud.commands.env import env
from localcloud.commands.exit_status import BAD_CONFIG, EXPLANATION, PORT_TAKEN, fail
from localcloud.commands.fault import add_fault_parser, fault
from localcloud.commands.status import status
from localcloud.commands.up import up
from localcloud.settings import SettingsError
from localcloud.state import StateDir
from localcloud.support.ports import PortTakenError

DEFAULT_CONFIG = Path("terraform/environments/local/localcloud.yml")
DEFAULT_STATE_DIR = Path(".localcloud")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command, and returns its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options, StateDir(options.state_dir))
    except SettingsError as error:
        return fail(BAD_CONFIG, error)
    except PortTakenError as error:
        return fail(PORT_TAKEN, error)


def _run(options: argparse.Namespace, state: StateDir) -> int:
    if options.command == "up":
        return up(_config_path(options.config), state, options.foreground, options.hosts)
    if options.command == "fault":
        return fault(options, state)
    if options.command == "env":
        return env(state)
    if options.command == "status":
        return status(state, options.json)
    return down(state)


def _config_path(given: Path | None) -> Path | None:
    if given is not None:
        return given.resolve()
    return DEFAULT_CONFIG.resolve() if DEFAULT_CONFIG.exists() else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m localcloud", description="An EC2 on this machine: the AWS API on loopback, with real hosts.",
        epilog=EXPLANATION, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--state-dir", type=Path, default=DEFAULT_STATE_DIR, metavar="DIR", help="logs and homes (default: %(default)s)"
    )
    up_parser = commands.add_parser("up", parents=[common], help="start it, unless it is up, and wait for its answer")
    up_parser.add_argument(
        "--config", type=Path, metavar="FILE", help=f"settings (default: {DEFAULT_CONFIG} if it exists)"
    )
    up_parser.add_argument(
        "--hosts", choices=("loopback", "machine"),
        help="what stands behind an instance: an address of loopback (default), or a Debian of its own (root, Linux)",
    )  # fmt: skip
    up_parser.add_argument("--foreground", action="store_true", help="stay in the foreground, log to standard error")
    env_parser = commands.add_parser("env", parents=[common], help="print credentials and address for other clients")
    status_parser = commands.add_parser("status", parents=[common], help="show its instances and their hosts")
    status_parser.add_argument("--json", action="store_true", help="as JSON")
    add_fault_parser(commands, common)
    down_parser = commands.add_parser("down", parents=[common], help="end it, its hosts and every process in them")
    for parser_without_config in (env_parser, status_parser, down_parser):
        # `--config` is accepted and not used, so that one command line fits all commands.
        parser_without_config.add_argument("--config", type=Path, help=argparse.SUPPRESS)
    return parser
