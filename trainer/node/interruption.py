"""The spot service's notices: that this instance is about to be taken back, or is at a higher risk of it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from trainer.node.fact import Notice, NoticeKind, timestamp
from trainer.node.requests import Requests

log = logging.getLogger(__name__)

POLL_S = 5.0
"""How often the metadata service is asked, as AWS recommends (EC2 User Guide, "Spot Instance interruption notices")."""
MARGIN_S = 40.0
"""How long before its end a node leaves. Until then a replacement may join, so that no step is lost."""


class Notices(Protocol):
    """The part of `trainer.node.metadata.Metadata` that is used here."""

    def interruption(self) -> str | None: ...
    def rebalance(self) -> str | None: ...


def watch(metadata: Notices, tell: Callable[[Notice], None], requests: Requests) -> threading.Thread:
    """Watches for notices in a thread, as long as this process lives."""
    arguments = (metadata, tell, requests)
    thread = threading.Thread(target=await_notices, args=arguments, name="interruption", daemon=True)
    thread.start()
    return thread


def await_notices(
    metadata: Notices,
    tell: Callable[[Notice], None],
    requests: Requests,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Tells of the notices, and lets the rank leave in order before its instance is taken back.

    A checkpoint is asked for at once, and again when the rank leaves: so the training loses little where all nodes go
    together. A rebalance recommendation names no end, so that the rank stays until it is replaced.

    Args:
        metadata: What the instance says. It is asked every few seconds.
        tell: Is given each notice, for whoever reads this rank's fact.
        requests: What the rank is asked to do.
        clock: Returns the seconds since the epoch.
        sleep: Lets seconds pass.
    """
    is_at_risk = False
    while (said := metadata.interruption()) is None:
        if not is_at_risk and metadata.rebalance() is not None:
            is_at_risk = True
            log.warning("this instance is at a higher risk of being taken back")
            tell(Notice(NoticeKind.REBALANCE, timestamp(clock()), None))
        sleep(POLL_S)
    now = clock()
    end = ends_at(said, now)
    log.warning("this instance is taken back in %.0f s: %s", end - now, said)
    tell(Notice(NoticeKind.INTERRUPTION, timestamp(now), timestamp(end)))
    requests.keep()
    sleep(max(0.0, end - now - MARGIN_S))
    requests.keep()
    requests.leave(f"interrupted by the spot service: {said}")


def ends_at(notice: str, otherwise: float) -> float:
    """Returns the time that a notice such as {"action": "terminate", "time": "..."} names, or `otherwise`.

    Both are in seconds since the epoch.
    """
    try:
        return datetime.fromisoformat(json.loads(notice)["time"].replace("Z", "+00:00")).timestamp()
    except (ValueError, KeyError, TypeError, AttributeError):
        return otherwise
