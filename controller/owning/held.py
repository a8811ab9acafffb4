"""A lease that is held: renewed, given back, or lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock, RLock
from typing import Any

from controller.domain.errors import AwsError, LeaseUncertainError, SupersededError
from controller.domain.lease import Fired, Lease
from controller.domain.reasons.writing import LeaseFired, LeaseTaken, LeaseUncertain
from controller.edges.bucket.objects import ChangedError, Objects
from controller.edges.clock import elapsed_s
from controller.owning.keys import LEASE
from controller.owning.lease_document import to_document
from controller.owning.taking import Seen, Taken, see
from controller.words.reasons.sentences import as_sentence

SURE_SHARE = 0.9
"""A holder counts on this share of its lease only: S3 tells whole seconds, and clocks run at different speeds."""
TRIES = 3


class HeldLease:
    """A lease that this process holds. Several threads may use it.

    Args:
        objects: Those of the cluster's bucket.
        taken: The lease as it was taken.
        elapsed: The monotonic clock. It goes on while the machine sleeps.
    """

    def __init__(self, objects: Objects, taken: Taken, elapsed: Callable[[], float] = elapsed_s) -> None:
        self._objects, self._elapsed = objects, elapsed
        self._lease, self._etag = taken.lease, taken.etag
        self._sure_until = self._end(taken.asked_at)
        self._lost: SupersededError | None = None
        self._is_over = False
        self._writing, self._changing = RLock(), Lock()

    @property
    def lease(self) -> Lease:
        """The lease as it is, or will be with the next renewal."""
        return self._lease

    @property
    def sure_for_s(self) -> float:
        """For how long from now the lease is surely valid; below zero where it may have run out."""
        return self._sure_until - self._elapsed()

    @property
    def is_lost(self) -> bool:
        """Whether another holder is known to have taken the lease, or the dead man's switch to have fired."""
        return self._lost is not None

    # is it still held?

    def check(self) -> None:
        """Raises SupersededError where the lease is known to be lost: to another holder, or to the switch."""
        if self._lost is not None:
            raise self._lost

    def check_surely(self) -> None:
        """Checks that nobody else can have the lease. A lease that may have run out is renewed first.

        Raises:
            SupersededError: Another holder has taken it.
            LeaseUncertainError: It may have run out, and the bucket can't be reached.
        """
        self.check()
        if self.sure_for_s > 0:
            return
        try:
            self.renew()
        except AwsError as error:
            reason = LeaseUncertain(self._lease.cluster, error.what)
            raise LeaseUncertainError(
                as_sentence(reason),
                "Nothing is changed until the bucket can be reached again. What runs goes on.",
                reason=reason,
            ) from error

    # changing it

    def tell(self, **changes: Any) -> None:
        """Changes what the lease says of the run. The next renewal writes it."""
        with self._changing:
            self._lease = replace(self._lease, **changes)

    def renew(self) -> None:
        """Puts the lease's end off.

        Raises:
            SupersededError: Another holder has taken it.
            AwsError: The bucket can't be reached or written. The lease is valid as long as before.
        """
        with self._writing:
            self.check()
            if not self._is_over:
                self._write(lambda lease: lease)

    def release(self) -> None:
        """Gives the lease back, so that anybody may take it at once.

        Raises:
            SupersededError: Another holder has taken it.
            AwsError: The bucket can't be reached or written. The lease runs out by itself.
        """
        with self._writing:
            self.check()
            if not self._is_over:
                self._write(Lease.given_back)
                self._is_over = True

    def forsake(self) -> None:
        """Writes nothing any more: the bucket is about to be removed."""
        with self._writing:
            self._is_over = True

    def _write(self, made_of: Callable[[Lease], Lease]) -> None:
        for _ in range(TRIES):
            asked_at, lease = self._elapsed(), made_of(self._lease)
            try:
                content = to_document(lease)
                self._etag = self._objects.write(LEASE, content, follows=self._etag, generation=lease.generation)
            except ChangedError:
                self._look_again()
                continue
            self._sure_until = self._end(asked_at)
            return
        raise AwsError(f"The lease of the cluster {self._lease.cluster} changes faster than it can be renewed.")

    def _look_again(self) -> None:
        """Takes up the version that lies in the bucket: an answer of S3 that was lost leaves one of this process's own.

        Raises:
            SupersededError: The lease has another holder, or the dead man's switch has fired and gives the fleet back.
        """
        seen = see(self._objects)
        if seen is None or seen.lease is None or not self._is_own(seen.lease):
            self._lost = _superseded(self._lease, seen)
        elif seen.lease.fired is not None:
            self._lost = _fired(seen.lease, seen.lease.fired)
        else:
            self._etag = seen.kept.etag
            return
        raise self._lost

    def _is_own(self, lease: Lease) -> bool:
        return lease.is_of(self._lease.holder) and lease.generation == self._lease.generation

    def _end(self, asked_at: float) -> float:
        return asked_at + SURE_SHARE * self._lease.lasts_s


def _fired(lease: Lease, fired: Fired) -> SupersededError:
    reason = LeaseFired(lease.cluster, fired.by, fired.why)
    return SupersededError(
        as_sentence(reason), f"`centavo --env {lease.environment} optimize` takes the cluster anew.", reason=reason
    )


def _superseded(lease: Lease, seen: Seen | None) -> SupersededError:
    holder = "" if seen is None or seen.lease is None else str(seen.lease.holder)
    reason = LeaseTaken(lease.cluster, holder)
    return SupersededError(as_sentence(reason), "`centavo status --remote` shows its run.", reason=reason)
