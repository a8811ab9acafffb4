"""`env`: prints the variables with which other clients use the cloud."""

from __future__ import annotations

import shlex

from localcloud.commands.exit_status import FAILED, NOT_RUNNING, OK, fail
from localcloud.state import Running, StateDir

IN_THE_WAY = ("AWS_SESSION_TOKEN", "AWS_PROFILE")
"""Variables of another account, which AWS's clients would use too."""


def env(state: StateDir) -> int:
    """Runs the command, and returns its exit status. What it prints is for `eval` in a shell."""
    running = state.running()
    if running is None:
        return fail(NOT_RUNNING, f"it is not running here ({state.path}); `python -m localcloud up` starts it")
    try:
        variables = _variables(state, running)
    except (OSError, ValueError) as error:
        return fail(FAILED, f"its credentials cannot be read: {error}. End it and start it again")
    print(f"unset {' '.join(IN_THE_WAY)}")
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
    return OK


def _variables(state: StateDir, running: Running) -> dict[str, str]:
    credentials, settings = state.credentials(), running.settings
    return {
        "AWS_ACCESS_KEY_ID": credentials.user.access_key_id,
        "AWS_SECRET_ACCESS_KEY": credentials.user.secret_access_key,
        "AWS_ENDPOINT_URL": settings.endpoint,
        "AWS_REGION": settings.region,
        "AWS_DEFAULT_REGION": settings.region,
        "LOCALCLOUD_TOKEN": credentials.control_token,
    }
