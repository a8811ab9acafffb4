"""Watches for the spot service's notice that this instance is about to be taken back, and leaves in time."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime

from trainer.node.metadata import Metadata
from trainer.node.requests import Orders

log = logging.getLogger(__name__)

POLL_S = 5.0
MARGIN_S = 40.0
"""How long before its end a node leaves: until then a replacement may still join, and no step need be lost."""


def watch(metadata: Metadata, orders: Orders) -> threading.Thread:
    """Watch in a thread of its own, as long as this process lives."""
    thread = threading.Thread(target=await_notice, args=(metadata, orders), name="interruption", daemon=True)
    thread.start()
    return thread


def await_notice(
    metadata: Metadata,
    orders: Orders,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Ask every few seconds, and order the rank to leave shortly before the time that the notice names."""
    while (notice := metadata.interruption()) is None:
        sleep(POLL_S)
    remaining_s = ends_at(notice, clock()) - clock()
    log.warning("this instance is taken back in %.0f s: %s", remaining_s, notice)
    sleep(max(0.0, remaining_s - MARGIN_S))
    orders.leave(f"interrupted by the spot service: {notice}")


def ends_at(notice: str, otherwise: float) -> float:
    """The time (seconds since the epoch) that a notice names, such as {"action": "terminate", "time": "..."}."""
    try:
        return datetime.fromisoformat(json.loads(notice)["time"].replace("Z", "+00:00")).timestamp()
    except (ValueError, KeyError, TypeError, AttributeError):
        return otherwise
