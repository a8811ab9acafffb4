"""The launcher's notices that hosts come or go."""

from __future__ import annotations

import threading

from horovod.common.elastic import notification_manager


class HostUpdates:
    """Hears the notices. The launcher sends them to rank 0 alone."""

    def __init__(self) -> None:
        self._is_listening = False
        self._pending = threading.Event()

    @property
    def are_pending(self) -> bool:
        """Whether hosts come or go, and no new world has begun since."""
        return self._pending.is_set()

    def clear(self) -> None:
        """Forgets the notices: a new world begins."""
        self._pending.clear()

    def listen(self) -> None:
        """Registers for the notices. Only the first call does something."""
        if not self._is_listening:
            notification_manager.init()
            notification_manager.register_listener(self)
            self._is_listening = True

    def on_hosts_updated(self, timestamp: int, result: object) -> None:
        """Takes a notice. Horovod calls it in a thread of its own."""
        self._pending.set()
