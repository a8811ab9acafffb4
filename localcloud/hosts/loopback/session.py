"""One SSH session on a host: a command or an interactive shell, with its streams, exit status and signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import asyncssh

from localcloud.hosts.loopback.streams import CHUNK_BYTES, Sink, copy
from localcloud.hosts.loopback.terminal import Keyboard, make_standard_input_the_terminal, resize

SHELL = "/bin/bash"
HANG_UP_GRACE_S = 2.0
SIGNALS = {number.name.removeprefix("SIG"): number for number in signal.Signals}
ACCEPTED_ENVIRONMENT = ("LANG", "LC_")  # like `AcceptEnv` in the sshd_config of the common distributions

ServerProcess = asyncssh.SSHServerProcess[bytes]
Preparation = Callable[[], None]


async def run_session(
    process: ServerProcess, home: Path, environment: Mapping[str, str], prepare: Preparation | None
) -> None:
    """Serves one `exec` or `shell` request from its start to its exit status.

    If the client closes the channel before the command has ended, the command's process group is ended.

    Args:
        process: asyncssh's end of the session.
        home: the directory in which the command starts.
        environment: the command's environment, to which the client may add its language.
        prepare: what the command's process does before its `exec`; None means nothing.
    """
    arguments = [SHELL, "-c", process.command] if process.command is not None else [SHELL, "-l"]
    whole = {**environment, **_accepted(process)}
    if process.term_type is None:
        await _run_with_pipes(process, arguments, home, whole, prepare)
    else:
        await _run_with_terminal(process, arguments, home, {**whole, "TERM": process.term_type}, prepare)


def _accepted(process: ServerProcess) -> dict[str, str]:
    sent = {str(name): str(value) for name, value in process.env.items()}
    return {name: value for name, value in sent.items() if name.startswith(ACCEPTED_ENVIRONMENT)}


async def _run_with_pipes(
    process: ServerProcess,
    arguments: list[str],
    home: Path,
    environment: Mapping[str, str],
    prepare: Preparation | None,
) -> None:
    child = await asyncio.create_subprocess_exec(
        *arguments, cwd=home, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True,
        preexec_fn=prepare,
    )  # fmt: skip
    assert child.stdin and child.stdout and child.stderr
    stdin = asyncio.create_task(_feed(process, child, child.stdin))
    outputs = asyncio.gather(_copy_output(child.stdout, process.stdout), _copy_output(child.stderr, process.stderr))
    await _until_end(process, child, outputs)
    stdin.cancel()


async def _run_with_terminal(
    process: ServerProcess,
    arguments: list[str],
    home: Path,
    environment: Mapping[str, str],
    prepare: Preparation | None,
) -> None:
    master, slave = pty.openpty()
    resize(master, process.term_size[0], process.term_size[1])

    def prepare_with_terminal() -> None:
        make_standard_input_the_terminal()
        if prepare:
            prepare()

    try:
        child = await asyncio.create_subprocess_exec(
            *arguments, cwd=home, env=environment, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=prepare_with_terminal,
        )  # fmt: skip
    finally:
        os.close(slave)
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(master, "rb", buffering=0)
    )
    stdin = asyncio.create_task(_feed(process, child, Keyboard(master)))
    await _until_end(process, child, asyncio.ensure_future(_copy_output(reader, process.stdout)))
    stdin.cancel()
    transport.close()


async def _until_end(process: ServerProcess, child: Process, outputs: asyncio.Future[Any]) -> None:
    """Waits until the command ends, and passes its status on. Ends the command if the channel is closed before."""
    closed = asyncio.create_task(process.wait_closed())
    ended = asyncio.create_task(_end_of(child, outputs))
    await asyncio.wait({closed, ended}, return_when=asyncio.FIRST_COMPLETED)
    if ended.done():
        _report_exit(process, ended.result())
    else:
        await _hang_up(child)
        outputs.cancel()
    for task in (closed, ended):
        task.cancel()


async def _end_of(child: Process, outputs: asyncio.Future[Any]) -> int:
    # Like sshd, a session lasts until its output is closed. Waiting for the exit alone would lose the last output.
    await outputs
    return await child.wait()


def _report_exit(process: ServerProcess, status: int) -> None:
    with contextlib.suppress(OSError, asyncssh.Error):
        if status >= 0:
            process.exit(status)
        else:
            process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))


async def _hang_up(child: Process) -> None:
    _signal_group(child.pid, signal.SIGHUP)
    _signal_group(child.pid, signal.SIGTERM)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(child.wait(), HANG_UP_GRACE_S)
    _signal_group(child.pid, signal.SIGKILL)
    await child.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


async def _copy_output(source: asyncio.StreamReader, sink: Sink) -> None:
    # A terminal's master end reports the error EIO when its last user has gone. That is its end of file.
    with contextlib.suppress(OSError, asyncssh.Error):
        await copy(source, sink)
    # After the client has stopped listening, reading goes on, so that the command does not block on a full pipe.
    while await _read_some(source):
        continue


async def _read_some(source: asyncio.StreamReader) -> bytes:
    try:
        return await source.read(CHUNK_BYTES)
    except OSError:
        return b""


async def _feed(process: ServerProcess, child: Process, sink: asyncio.StreamWriter | Keyboard) -> None:
    """Passes the client's input, signals and window sizes on until the end of its input."""
    while True:
        try:
            data = await process.stdin.read(CHUNK_BYTES)
            if not data:
                break
            sink.write(data)
            await sink.drain()
        except asyncssh.SignalReceived as received:
            if received.signal in SIGNALS:
                _signal_group(child.pid, SIGNALS[received.signal])
        except asyncssh.BreakReceived:
            _signal_group(child.pid, signal.SIGINT)
        except asyncssh.TerminalSizeChanged as change:
            if isinstance(sink, Keyboard):
                resize(sink.descriptor, change.width, change.height)
        except (OSError, asyncssh.Error):
            break
    with contextlib.suppress(OSError):
        sink.close()
