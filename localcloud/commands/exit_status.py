"""The exit statuses of the commands."""

from __future__ import annotations

import sys

OK = 0
FAILED = 1
BAD_CONFIG = 2
NOT_RUNNING = 3
PORT_TAKEN = 4
OTHER_CONFIG = 5

EXPLANATION = f"""exit status: {OK} done, {FAILED} failed, {BAD_CONFIG} bad usage or configuration,
{NOT_RUNNING} not running (status), {PORT_TAKEN} a port is taken,
{OTHER_CONFIG} already up with another configuration"""


def fail(status: int, message: object) -> int:
    """Prints an error, and returns the exit status."""
    print(f"localcloud: {message}", file=sys.stderr)
    return status
