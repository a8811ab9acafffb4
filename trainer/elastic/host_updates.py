"""Notices that hosts come or go."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from horovod.common.elastic import notification_manager

OUR_LAUNCHER = "centavo"
_noticed = threading.Event()


def notice() -> None:
    """Notes that hosts come or go. The connection to our launcher calls it, in a thread of its own."""
    _noticed.set()


class HostUpdates:
    """Hears the notices, which are for rank 0 alone.

    Our launcher sends them over SSH. Only under another elastic launcher does a rank start Horovod's own service for
    them, which listens on every interface.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._is_listening = False

    @property
    def are_pending(self) -> bool:
        """Whether hosts come or go, and no new world has begun since."""
        return _noticed.is_set()

    def clear(self) -> None:
        """Forgets the notices: a new world begins."""
        _noticed.clear()

    def listen(self) -> None:
        """Registers for the notices of another launcher than ours. Only the first call does something."""
        if not self._is_listening and self._environment.get("HOROVOD_LAUNCHED_BY") != OUR_LAUNCHER:
            notification_manager.init()
            notification_manager.register_listener(self)
        self._is_listening = True

    def on_hosts_updated(self, timestamp: int, result: object) -> None:
        """Takes a notice of Horovod's own service, which calls it in a thread of its own."""
        notice()
