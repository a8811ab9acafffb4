"""The run's log, sent to CloudWatch Logs by the controller itself while the run goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from controller.record.export.repeating import repeating
from controller.shipping.log import Source
from controller.shipping.sending import CloudWatch, connect
from controller.shipping.shipper import Shipper
from controller.shipping.streams import CONTROLLER, stream

EVERY_S = 2.0
STATE_FILE = "shipped.json"


@dataclass(frozen=True)
class CloudLog:
    """The log of one run.

    Attributes:
        run: The run.
        file: The log.
        region: The region of the log group.
        group: Returns the log group; None as long as it is not known.
        now: Returns the seconds since the epoch.
        tell: Takes what a person may want to know about the sending. Another thread calls it.
    """

    run: str
    file: Path
    region: str
    group: Callable[[], str | None]
    now: Callable[[], float]
    tell: Callable[[str], None]

    def sent(self) -> AbstractContextManager[None]:
        """Sends what is new in the log again and again while inside, and what is left at the end."""
        return repeating("cloud log", self._send)

    def _send(self, ends: threading.Event) -> None:
        shipper: Shipper | None = None
        is_last = False
        while not is_last:
            is_last = ends.wait(EVERY_S)
            shipper = shipper or self._shipper()
            if shipper is not None:
                shipper.go()

    def _shipper(self) -> Shipper | None:
        group = self.group()
        if group is None:
            return None
        source = Source(self.file.name, self.file, partial(stream, self.run, CONTROLLER))
        sender = CloudWatch(group, partial(connect, self.region))
        return Shipper([source], sender, self.file.with_name(STATE_FILE), self.now, self.tell)
