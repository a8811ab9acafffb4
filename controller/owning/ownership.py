"""What a command holds while it changes an environment: the checkout's lock, and the cluster's lease."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from controller.domain import Progress
from controller.domain.lease import Claim, Lease
from controller.edges.bucket.objects import Objects
from controller.owning.heartbeat import NOTICED_SHARE
from controller.owning.held import HeldLease
from controller.owning.sources import Source
from controller.owning.taking import take
from controller.owning.tenure import LeaseTenure, NoTenure, Tenure
from controller.record.journal import Journal


class Lock(Protocol):
    """The part of `record.environment_lock.EnvironmentLock` that is used here."""

    def check(self) -> None: ...


class Ownership:
    """The right to change one environment. It is the lock that `Journal.take_over` asks for.

    Args:
        lock: The checkout's, which is held.
        claim: On what terms the lease is wanted.
        longest_pass_s: A command that has looked at nothing for so long hangs, and loses its lease.
        now: The time of day.

    Attributes:
        unaware_s: So long after the lease was taken, a holder that lives may not know yet that it has lost it.
    """

    def __init__(self, lock: Lock, claim: Claim, longest_pass_s: float, now: Callable[[], float]) -> None:
        self._lock, self._claim, self._longest_pass_s, self._now = lock, claim, longest_pass_s, now
        self._tenure: Tenure = NoTenure()
        self._told: deque[str] = deque()
        self._is_owned = False
        self.unaware_s = 0.0

    @property
    def checkout(self) -> str:
        """The id of the checkout that this process works in."""
        return self._claim.holder.checkout

    def had_run(self, lease: Lease) -> bool:
        """Returns whether a command of this checkout was the last that worked on the run of a lease."""
        return lease.has_run_of_the_checkout(self._claim.holder)

    @property
    def generation(self) -> int:
        """The generation of the lease; 0 where there is none."""
        return self._tenure.generation

    def own(self, objects: Objects | None, *, by_force: bool = False) -> Lease | None:
        """Takes the cluster's lease, unless it is held already or there is no bucket yet.

        Args:
            objects: Those of the cluster's bucket; None where there is none.
            by_force: Takes it from a living holder, too.

        Returns:
            The lease as the last holder left it; None where there was none, or nothing was taken.

        Raises:
            LockedError: Somebody else has it. The error says who, since when, and how to take over.
            AwsError: The bucket can't be reached or written.
        """
        if objects is None or self._is_owned:
            return None
        taken = take(objects, self._claim, self._now(), by_force=by_force)
        self._tenure = LeaseTenure(objects, HeldLease(objects, taken), self._longest_pass_s, self._told.append)
        self._is_owned = True
        if taken.is_by_force:
            self.unaware_s = NOTICED_SHARE * (taken.before or taken.lease).lasts_s
        return taken.before

    def check(self) -> None:
        """Raises SupersededError where the lock or the lease is known to be lost."""
        self._lock.check()
        self._tenure.check()

    def check_surely(self) -> None:
        """Checks before a side effect that nobody else can own the environment.

        Raises:
            SupersededError: The lock or the lease is lost.
            LeaseUncertainError: The lease may have run out, and the bucket can't be reached.
        """
        self._lock.check()
        self._tenure.check_surely()

    def work_on(self, journal: Journal, sources: Sequence[Source]) -> None:
        """Names the run in the lease, and copies its state to the bucket from now on.

        Raises:
            JournalError: Another checkout has controlled the run since this one did.
            AwsError: Whether one has can't be known.
        """
        self._tenure.work_on(journal, sources)

    def saw(self, progress: Progress | None, at: float) -> None:
        """Takes up what a pass has seen, at a time in seconds since the epoch."""
        self._tenure.saw(progress, at)

    def forsake(self) -> None:
        """Writes nothing into the bucket any more, which is about to be removed."""
        self._tenure.forsake()

    def news(self) -> Iterator[str]:
        """Yields what the threads in the background had to tell since the last call."""
        while self._told:
            yield self._told.popleft()

    def give_back(self) -> None:
        """Copies what has changed last, and gives the lease back. The lock is kept."""
        self._tenure.end()
        self._tenure = NoTenure()

    def end(self) -> None:
        """Gives the lease back."""
        self._tenure.end()


@contextmanager
def ended(ownership: Ownership, tell: Callable[[str], None]) -> Iterator[Ownership]:
    """Gives an ownership back at the end, however that comes, and tells what it had to tell last."""
    try:
        yield ownership
    finally:
        ownership.end()
        for message in ownership.news():
            tell(message)
