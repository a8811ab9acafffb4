"""How long the parts of growing take: Terraform, booting, configuring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from controller.domain.move import MovePart


class Stopwatch:
    """Measures what is done on the cluster. What fails tells nothing.

    Args:
        now: Returns the time (seconds since the epoch).
        keep: Keeps how many seconds a part took.
    """

    def __init__(self, now: Callable[[], float], keep: Callable[[MovePart, float], None]) -> None:
        self._now, self._keep = now, keep
        self._applied_at: float | None = None
        self._added = 0

    @contextmanager
    def applying(self, added: int) -> Iterator[None]:
        """Measures Terraform, which adds so many nodes."""
        began, self._applied_at = self._now(), None
        yield
        self._applied_at, self._added = self._now(), added
        self._keep(MovePart.TERRAFORM, self._applied_at - began)

    @contextmanager
    def configuring(self, nodes: int) -> Iterator[None]:
        """Measures the playbook on so many nodes, and how long those of the last apply needed until they answered.

        Where not all of them did, the others were waited for in vain, and how long they booted is not known. Where the
        apply added none, it only let nodes go, and these were there before it.
        """
        began, applied_at, self._applied_at = self._now(), self._applied_at, None
        yield
        if applied_at is not None:
            if 0 < self._added <= nodes:
                self._keep(MovePart.BOOT, began - applied_at)
            self._keep(MovePart.CONFIGURE, self._now() - began)
