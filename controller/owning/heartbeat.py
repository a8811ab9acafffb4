"""The thread that renews a lease while the work that it is for goes on."""

from __future__ import annotations

from collections.abc import Callable

from controller.domain.errors import AwsError, SupersededError
from controller.owning.background import Background
from controller.owning.held import HeldLease

RENEWALS = 4
"""A lease is renewed so often while it lasts."""
RETRIES = 20
"""A renewal that has failed is tried again so often while the lease lasts."""
NOTICED_SHARE = 1 / RENEWALS + 1 / RETRIES
"""Of its lease's length: so long after somebody has taken the lease, a holder that lives has tried to renew it."""
HANGS = "the controller has made no pass for so long that its lease is not renewed any more"


class Heartbeat:
    """Renews a lease in the background.

    Args:
        held: The lease.
        is_alive: Returns whether the work still makes progress. A controller that hangs must not own for ever.
        tell: Takes what people should know. It is called in the background, and must not use the journal.
    """

    def __init__(self, held: HeldLease, is_alive: Callable[[], bool], tell: Callable[[str], None]) -> None:
        self._held, self._is_alive, self._tell = held, is_alive, tell
        self._trouble, self._is_well = "", True
        self._background = Background("lease", self._beat_on, self._pause_s)

    def start(self) -> None:
        """Begins to renew the lease."""
        self._background.start()

    def wake(self) -> None:
        """Renews the lease now, because what it says has changed."""
        self._background.wake()

    def stop(self) -> None:
        """Renews it no more, from the return of this call on."""
        self._background.stop()

    def beat(self) -> bool:
        """Renews the lease once. Returns whether it shall be renewed in its usual rhythm; else soon."""
        if not self._is_alive():
            self._say(HANGS)
            return False
        try:
            self._held.renew()
        except SupersededError as error:
            self._say(error.what)
            return True
        except AwsError as error:
            self._say(f"the cluster's lease can't be renewed, and is tried again: {error.what}")
            return False
        self._say("")
        return True

    def _say(self, trouble: str) -> None:
        """Tells of a trouble once, and of its end."""
        if trouble != self._trouble:
            self._tell(trouble or "the cluster's lease is renewed again")
        self._trouble = trouble

    def _beat_on(self) -> None:
        self._is_well = self.beat()

    def _pause_s(self) -> float:
        return self._held.lease.lasts_s / (RENEWALS if self._is_well else RETRIES)
