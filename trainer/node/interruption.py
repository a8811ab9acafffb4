"""The spot service's notice that this instance is about to be taken back."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime

from trainer.node.metadata import Metadata
from trainer.node.requests import Requests

log = logging.getLogger(__name__)

POLL_S = 5.0
MARGIN_S = 40.0
"""How long before its end a node leaves. Until then a replacement may join, so that no step is lost."""


def watch(metadata: Metadata, requests: Requests) -> threading.Thread:
    """Watches for the notice in a thread, as long as this process lives."""
    thread = threading.Thread(target=await_notice, args=(metadata, requests), name="interruption", daemon=True)
    thread.start()
    return thread


def await_notice(
    metadata: Metadata,
    requests: Requests,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Asks every few seconds, and asks the rank to leave shortly before the time that the notice names."""
    while (notice := metadata.interruption()) is None:
        sleep(POLL_S)
    remaining_s = ends_at(notice, clock()) - clock()
    log.warning("this instance is taken back in %.0f s: %s", remaining_s, notice)
    sleep(max(0.0, remaining_s - MARGIN_S))
    requests.leave(f"interrupted by the spot service: {notice}")


def ends_at(notice: str, otherwise: float) -> float:
    """Returns the time that a notice such as {"action": "terminate", "time": "..."} names, or `otherwise`.

    Both are in seconds since the epoch.
    """
    try:
        return datetime.fromisoformat(json.loads(notice)["time"].replace("Z", "+00:00")).timestamp()
    except (ValueError, KeyError, TypeError, AttributeError):
        return otherwise
