"""One call of a function as a process: what it starts with, and what came of it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("program.py")


@dataclass(frozen=True)
class Call:
    """What is called.

    Attributes:
        code: the zip with the function's code.
        handler: the function in it, as `package.module.function`.
        event: the event, as JSON.
        context: what the handler is told of the call.
        environment: the variables of the process.
        timeout_s: after so many seconds the process and its children are killed.
    """

    request_id: str
    code: bytes
    handler: str
    event: str
    context: Mapping[str, Any]
    environment: Mapping[str, str]
    timeout_s: float


@dataclass(frozen=True)
class Outcome:
    """What came of a call.

    Attributes:
        answer: what the handler returned, or the error as Lambda describes it, as JSON.
        failed: whether it is an error.
        output: what the process printed.
        took_s: how long it took.
    """

    answer: str
    failed: bool
    output: str
    took_s: float


def run(call: Call, folder: Path) -> Outcome:
    """Runs a call in an empty folder, to its end. Nothing of the process is left then.

    Raises:
        OSError: the folder cannot be written, or no process can be started.
    """
    with zipfile.ZipFile(io.BytesIO(call.code)) as archive:
        archive.extractall(folder / "code")
    (folder / "event.json").write_text(call.event)
    (folder / "context.json").write_text(json.dumps({**call.context, "timeout_s": call.timeout_s}))
    began = time.monotonic()
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(folder), call.handler],
            cwd=folder / "code",
            env=dict(call.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(call.timeout_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    printed = (folder / "output").read_text(errors="replace")
    answer, failed = _result(call, folder, status)
    return Outcome(answer, failed, printed, time.monotonic() - began)


def _result(call: Call, folder: Path, status: int | None) -> tuple[str, bool]:
    """Returns what the handler returned, or an error, and whether it is one."""
    if status is None:
        message = f"{call.request_id} Task timed out after {call.timeout_s:.2f} seconds"
        return json.dumps({"errorType": "Sandbox.Timedout", "errorMessage": message}), True
    try:
        result = json.loads((folder / "result.json").read_text())
    except (OSError, ValueError):
        message = f"RequestId: {call.request_id} Error: Runtime exited with error: exit status {status}"
        return json.dumps({"errorType": "Runtime.ExitError", "errorMessage": message}), True
    return (result["answer"], False) if "answer" in result else (json.dumps(result["error"]), True)
