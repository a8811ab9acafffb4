"""`up`: starts the daemon, unless it is up, and waits until it answers."""

from __future__ import annotations

import ipaddress
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from localcloud.commands.client import ask
from localcloud.commands.exit_status import BAD_CONFIG, FAILED, OK, OTHER_CONFIG, PORT_TAKEN, fail
from localcloud.hosts.machine.preparing import prepare
from localcloud.hosts.machine.tools import MachineError
from localcloud.settings import API_ADDRESS, Kind, Settings, load_settings
from localcloud.state import Running, StateDir
from localcloud.support.logs import configure_logging
from localcloud.support.ports import check_free
from localcloud.support.processes import start_time

START_LIMIT_S = 400.0
END_LIMIT_S = 30.0
POLL_S = 0.05
LOG_LINES_SHOWN = 15


def up(config: Path | None, state: StateDir, foreground: bool, hosts: Kind | None = None) -> int:
    """Runs the command, and returns its exit status.

    Args:
        config: the configuration file; None means the defaults.
        state: the state directory.
        foreground: whether this process is the daemon.
        hosts: the kind of host, in place of the configured one.

    Raises:
        SettingsError: the configuration cannot be used.
        PortTakenError: another process listens on a port of the configuration.
    """
    settings = load_settings(config, hosts)
    running = state.running()
    if running:
        return _already_up(running, settings, state)
    check_free(API_ADDRESS, settings.port, "port")
    if settings.hosts == "loopback":
        first_address = str(ipaddress.IPv4Network(settings.vpc_cidr)[1])
        check_free(first_address, settings.ssh_port, "ssh_port")
        check_free(first_address, settings.metadata_port, "metadata_port")
    elif not foreground:
        # The daemon's hosts do this too. Here a person sees at once what is missing, and waits for the image.
        try:
            prepare(settings.machines, state.path, _say)
        except MachineError as error:
            return fail(FAILED, f"localcloud did not start: {error}")
    return _serve(settings, state) if foreground else _start_detached(config, settings, state)


def _say(sentence: str) -> None:
    print(f"localcloud: {sentence}", file=sys.stderr, flush=True)


def _already_up(running: Running, settings: Settings, state: StateDir) -> int:
    differences = settings.differences(running.settings)
    if differences:
        return fail(
            OTHER_CONFIG,
            f"localcloud is up (process {running.pid}) with another configuration: {', '.join(differences)} differ. "
            f"End it first: python -m localcloud down --state-dir {state.path}",
        )
    _wait_until_it_answers(state, settings, running.pid)
    print(f"localcloud is up already: {settings.endpoint} (process {running.pid})")
    return OK


def _serve(settings: Settings, state: StateDir) -> int:
    try:
        # The state is recorded before the slow imports, so that `down` finds a daemon that is still starting.
        with state.held(settings):
            from localcloud.daemon import run  # noqa: PLC0415 - it imports moto, which takes seconds

            configure_logging()
            run(settings, state)
    except (RuntimeError, ValueError) as error:
        return fail(FAILED, error)
    return OK


def _start_detached(config: Path | None, settings: Settings, state: StateDir) -> int:
    state.path.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "localcloud", "up", "--foreground", "--state-dir", str(state.path)]
    command += ["--hosts", settings.hosts]
    if config:
        command += ["--config", str(config)]
    environment = {**os.environ, "PYTHONPATH": _with_this_package(os.environ.get("PYTHONPATH"))}
    if state.log.exists():
        state.log.replace(state.log.with_suffix(".log.before"))
    with state.log.open("ab") as log:
        # The daemon has a session of its own, because Ctrl-C in the terminal of this command is not meant for it.
        daemon = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=state.path,
            start_new_session=True,
        )  # fmt: skip
    try:
        _wait_until_it_answers(state, settings, daemon.pid)
    except TimeoutError as error:
        return _explain_start(daemon, state, error)
    print(f"localcloud is up: {settings.endpoint} (process {daemon.pid}, log {state.log})")
    return OK


def _with_this_package(path: str | None) -> str:
    parent = str(Path(__file__).resolve().parents[2])
    return f"{parent}{os.pathsep}{path}" if path else parent


def _explain_start(daemon: subprocess.Popen[bytes], state: StateDir, error: TimeoutError) -> int:
    ended = daemon.poll()
    last_lines = "\n".join(state.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])
    if ended is None:
        os.killpg(daemon.pid, signal.SIGTERM)
        daemon.wait(END_LIMIT_S)
    status = ended if ended in (BAD_CONFIG, PORT_TAKEN) else FAILED
    return fail(status, f"localcloud did not start: {error}. The end of {state.log}:\n{last_lines}")


def _wait_until_it_answers(state: StateDir, settings: Settings, pid: int) -> None:
    """Waits for the first answer of the daemon.

    Raises:
        TimeoutError: the daemon did not answer in time, or it ended.
    """
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit:
        try:
            ask(state, settings, "status")
        except OSError:
            if start_time(pid) is None:
                raise TimeoutError("it ended at once") from None
            time.sleep(POLL_S)
        else:
            return
    raise TimeoutError(f"no answer at {settings.endpoint} within {START_LIMIT_S:.0f} s")
