"""The commands up, status and down."""

from __future__ import annotations

import argparse
import ipaddress
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localcloud.settings import API_ADDRESS, Settings, SettingsError, load_settings
from localcloud.state import Running, StateDir, start_time
from localcloud.support.ports import PortTakenError, check_free
from localcloud.support.processes import STATE_MARKER, end_marked

DEFAULT_CONFIG = Path("terraform/environments/local/localcloud.yml")
DEFAULT_STATE_DIR = Path(".localcloud")
START_LIMIT_S = 120.0
END_LIMIT_S = 30.0
POLL_S = 0.05
ANSWER_LIMIT_S = 10.0
LOG_LINES_SHOWN = 15

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_BAD_CONFIG = 2
EXIT_NOT_RUNNING = 3
EXIT_PORT_TAKEN = 4
EXIT_OTHER_CONFIG = 5

EPILOG = f"""exit status: {EXIT_OK} done, {EXIT_FAILED} failed, {EXIT_BAD_CONFIG} bad usage or configuration,
{EXIT_NOT_RUNNING} not running (status), {EXIT_PORT_TAKEN} a port is taken,
{EXIT_OTHER_CONFIG} already up with another configuration"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options = _parser().parse_args(arguments)
    state = StateDir(options.state_dir)
    try:
        return int(options.run(options, state))
    except SettingsError as error:
        return _fail(EXIT_BAD_CONFIG, error)
    except PortTakenError as error:
        return _fail(EXIT_PORT_TAKEN, error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m localcloud", description="An EC2 on this machine: the AWS API on loopback, with real hosts.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--state-dir", type=Path, default=DEFAULT_STATE_DIR, metavar="DIR", help="logs and homes (default: %(default)s)"
    )
    up = commands.add_parser("up", parents=[common], help="start it, unless it is up, and wait until it answers")
    up.add_argument("--config", type=Path, metavar="FILE", help=f"settings (default: {DEFAULT_CONFIG} if it exists)")
    up.add_argument("--foreground", action="store_true", help="stay in the foreground, log to standard error")
    up.set_defaults(run=_up)
    status = commands.add_parser("status", parents=[common], help="show its instances and groups")
    status.add_argument("--config", type=Path, help=argparse.SUPPRESS)
    status.add_argument("--json", action="store_true", help="as JSON")
    status.set_defaults(run=_status)
    down = commands.add_parser("down", parents=[common], help="end it, its hosts and every process in them")
    down.add_argument("--config", type=Path, help=argparse.SUPPRESS)
    down.set_defaults(run=_down)
    return parser


# up


def _up(options: argparse.Namespace, state: StateDir) -> int:
    settings = load_settings(_config_path(options.config))
    running = state.running()
    if running:
        return _already_up(running, settings, state)
    check_free(API_ADDRESS, settings.port, "port")
    _check_host_ports(settings)
    if options.foreground:
        return _serve(settings, state)
    return _start_detached(options, settings, state)


def _config_path(given: Path | None) -> Path | None:
    if given is not None:
        return given.resolve()
    return DEFAULT_CONFIG.resolve() if DEFAULT_CONFIG.exists() else None


def _already_up(running: Running, settings: Settings, state: StateDir) -> int:
    differences = settings.differences(running.settings)
    if differences:
        return _fail(
            EXIT_OTHER_CONFIG,
            f"localcloud is up (process {running.pid}) with another configuration: {', '.join(differences)} differ. "
            f"End it first: python -m localcloud down --state-dir {state.path}",
        )
    _wait_until_it_answers(settings, running.pid)
    print(f"localcloud is up already: {settings.endpoint} (process {running.pid})")
    return EXIT_OK


def _check_host_ports(settings: Settings) -> None:
    first = str(ipaddress.IPv4Network(settings.vpc_cidr)[1])
    check_free(first, settings.ssh_port, "ssh_port")
    check_free(first, settings.metadata_port, "metadata_port")


def _serve(settings: Settings, state: StateDir) -> int:
    try:
        # Recorded before the slow imports, so that a `down` finds a daemon that is still starting.
        with state.held(settings):
            from localcloud.daemon import configure_logging, run  # noqa: PLC0415 - imports moto, which takes seconds

            configure_logging()
            run(settings, state)
    except (RuntimeError, ValueError) as error:
        return _fail(EXIT_FAILED, error)
    return EXIT_OK


def _start_detached(options: argparse.Namespace, settings: Settings, state: StateDir) -> int:
    state.path.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "localcloud", "up", "--foreground", "--state-dir", str(state.path)]
    config = _config_path(options.config)
    if config:
        command += ["--config", str(config)]
    environment = {**os.environ, "PYTHONPATH": _with_this_package(os.environ.get("PYTHONPATH"))}
    if state.log.exists():
        state.log.replace(state.log.with_suffix(".log.before"))
    with state.log.open("ab") as log:
        # A session of its own: Ctrl-C in the terminal of this command is not meant for the cloud.
        daemon = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=state.path,
            start_new_session=True,
        )  # fmt: skip
    try:
        _wait_until_it_answers(settings, daemon.pid)
    except TimeoutError as error:
        return _explain_start(daemon, state, error)
    print(f"localcloud is up: {settings.endpoint} (process {daemon.pid}, log {state.log})")
    return EXIT_OK


def _with_this_package(path: str | None) -> str:
    parent = str(Path(__file__).resolve().parent.parent)
    return f"{parent}{os.pathsep}{path}" if path else parent


def _explain_start(daemon: subprocess.Popen[bytes], state: StateDir, error: TimeoutError) -> int:
    ended = daemon.poll()
    tail = "\n".join(state.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])
    if ended is None:
        os.killpg(daemon.pid, signal.SIGTERM)
        daemon.wait(END_LIMIT_S)
    status = ended if ended in (EXIT_BAD_CONFIG, EXIT_PORT_TAKEN) else EXIT_FAILED
    return _fail(status, f"localcloud did not start: {error}. The end of {state.log}:\n{tail}")


def _wait_until_it_answers(settings: Settings, pid: int) -> None:
    """Raises TimeoutError when it did not answer in time or ended."""
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit:
        try:
            _ask(settings)
        except OSError:
            if start_time(pid) is None:
                raise TimeoutError("it ended at once") from None
            time.sleep(POLL_S)
        else:
            return
    raise TimeoutError(f"no answer at {settings.endpoint} within {START_LIMIT_S:.0f} s")


def _ask(settings: Settings) -> dict[str, Any]:
    url = f"{settings.endpoint}/_localcloud/status"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=ANSWER_LIMIT_S) as answer:
        document: dict[str, Any] = json.load(answer)
    return document


# status


def _status(options: argparse.Namespace, state: StateDir) -> int:
    running = state.running()
    if running is None:
        if options.json:
            print(json.dumps({"running": False}))
        else:
            print(f"localcloud is not running here ({state.path})")
        return EXIT_NOT_RUNNING
    try:
        document = _ask(running.settings)
    except OSError as error:
        endpoint = running.settings.endpoint
        return _fail(EXIT_FAILED, f"process {running.pid} lives, but {endpoint} does not answer: {error}")
    if options.json:
        print(json.dumps({"running": True, "pid": running.pid, **document}, indent=2))
    else:
        _print_status(running, document)
    return EXIT_OK


def _print_status(running: Running, document: dict[str, Any]) -> None:
    print(f"localcloud at {document['endpoint']}, process {running.pid}, VPC {document['vpc_cidr']}")
    columns = ["INSTANCE", "FLAVOR", "ADDRESS", "STATE", "HOST", "USER DATA", "SPEED (cores)", "GROUP"]
    rows = [
        [
            instance["instance_id"],
            instance["flavor"],
            instance["ip"] or "-",
            instance["state"],
            instance["host"] or "-",
            instance["user_data"] or "-",
            "unbraked" if instance["speed"] is None else f"{instance['speed']:.2f}",
            instance["group"] or "-",
        ]
        for instance in document["instances"]
    ]
    if not rows:
        print("no instances")
        return
    widths = [max(len(row[index]) for row in [columns, *rows]) for index in range(len(columns))]
    for row in [columns, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


# down


def _down(options: argparse.Namespace, state: StateDir) -> int:
    running = state.running()
    if running:
        os.kill(running.pid, signal.SIGTERM)
        if not _wait_for_end(running):
            os.kill(running.pid, signal.SIGKILL)
    # What a killed daemon left behind bears the mark of the state directory.
    if not end_marked(STATE_MARKER, str(state.path)):
        return _fail(EXIT_FAILED, f"some processes of the hosts of {state.path} cannot be ended")
    state.forget()
    print("localcloud is down" if running else "localcloud was not running")
    return EXIT_OK


def _wait_for_end(running: Running) -> bool:
    limit = time.monotonic() + END_LIMIT_S
    while time.monotonic() < limit:
        if start_time(running.pid) != running.started:
            return True
        time.sleep(POLL_S)
    return False


def _fail(status: int, message: object) -> int:
    print(f"localcloud: {message}", file=sys.stderr)
    return status
