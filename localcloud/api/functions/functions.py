"""Calling functions."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import uuid
from pathlib import Path

from moto.awslambda.models import LambdaFunction

from localcloud.api.functions.logs import write_log
from localcloud.api.functions.process import Call, Outcome, run
from localcloud.api.functions.role import assumed
from localcloud.credentials import Key
from localcloud.settings import Settings
from localcloud.support.processes import STATE_MARKER

log = logging.getLogger("localcloud.functions")


class Functions:
    """Runs calls of functions. Their processes end with the daemon.

    Args:
        settings: the configuration.
        state_dir: the folder of the daemon. Each call has a folder in it while it runs.
    """

    def __init__(self, settings: Settings, state_dir: Path) -> None:
        self._settings, self._state_dir = settings, state_dir
        self._folder = state_dir / "functions"
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, function: LambdaFunction, event: str) -> Outcome:
        """Calls a function, and waits for its end.

        Raises:
            OSError: no process can be started.
        """
        request_id = str(uuid.uuid4())
        folder = self._folder / request_id
        folder.mkdir(parents=True)
        try:
            with assumed(function.role, function.function_name, self._settings.region) as key:
                outcome = run(self._call_of(function, event, request_id, key), folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        write_log(function, self._settings.region, request_id, outcome)
        said = f"failed: {outcome.answer}" if outcome.failed else "returned"
        log.info("the function %s %s after %.1f s", function.function_name, said, outcome.took_s)
        return outcome

    def call_later(self, function: LambdaFunction, event: str) -> None:
        """Calls a function in the background."""
        threading.Thread(target=self._call_safely, args=(function, event), name="function", daemon=True).start()

    def _call_safely(self, function: LambdaFunction, event: str) -> None:
        try:
            self.call(function, event)
        except Exception:  # one call must not leave the others without a thread that tells of them
            log.exception("the function %s was not called", function.function_name)

    def _call_of(self, function: LambdaFunction, event: str, request_id: str, key: Key) -> Call:
        """Returns the call as a process gets it. Its environment holds nothing of this process's own but PATH."""
        configuration = function.get_configuration()
        about = {
            "function_name": function.function_name,
            "function_version": "$LATEST",
            "invoked_function_arn": configuration["FunctionArn"],
            "memory_limit_in_mb": str(function.memory_size),
            "log_group_name": configuration["LoggingConfig"]["LogGroup"],
            "aws_request_id": request_id,
        }
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TZ": ":UTC",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{function.run_time}",
            "AWS_LAMBDA_FUNCTION_NAME": function.function_name,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_size),
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_ENDPOINT_URL": self._settings.endpoint,
            **function.environment_vars,
            "_HANDLER": str(function.handler),
            "AWS_REGION": self._settings.region,
            "AWS_DEFAULT_REGION": self._settings.region,
            "AWS_ACCESS_KEY_ID": key.access_key_id,
            "AWS_SECRET_ACCESS_KEY": key.secret_access_key,
            "AWS_SESSION_TOKEN": str(key.session_token),
            STATE_MARKER: str(self._state_dir),
        }
        return Call(
            request_id, function.code_bytes, str(function.handler), event, about, environment, float(function.timeout)
        )
