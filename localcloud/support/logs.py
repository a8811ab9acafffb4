"""Logging of the daemon and of the hosts' process."""

from __future__ import annotations

import logging
import sys


def configure_logging() -> None:
    """Sends all log lines to standard error. A detached daemon has its log file there."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
