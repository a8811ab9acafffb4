"""Taking the lease of a cluster: of all that try, one wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.domain.errors import LockedError
from controller.domain.lease import FIRST_GENERATION, Claim, Lease
from controller.domain.reasons.writing import LeaseHeld, LeaseUnreadable
from controller.edges.bucket.objects import ChangedError, Kept, Objects
from controller.edges.clock import elapsed_s
from controller.owning.keys import LEASE
from controller.owning.lease_document import UnreadableError, from_document, to_document
from controller.words.reasons.sentences import as_sentence

TRIES = 5
"""How often a taker that somebody was faster than looks again."""


@dataclass(frozen=True)
class Seen:
    """The lease as it lies in the bucket: `lease` is None, and `problem` says why, where it can't be read."""

    kept: Kept
    lease: Lease | None
    problem: str = ""


@dataclass(frozen=True)
class Taken:
    """A lease that was taken.

    Attributes:
        lease: As it was written.
        etag: Names the version that was written.
        asked_at: When the write was sent, by this machine's monotonic clock: the lease is at least valid from then on.
        before: The lease that it follows, if there was one.
        is_by_force: Whether the holder before may live, and does not know yet that it has lost the lease.
    """

    lease: Lease
    etag: str
    asked_at: float
    before: Lease | None
    is_by_force: bool = False


def see(objects: Objects) -> Seen | None:
    """Returns the lease that lies in the bucket; None where there is none. Raises AwsError."""
    kept = objects.read(LEASE)
    if kept is None:
        return None
    try:
        return Seen(kept, from_document(kept.content))
    except UnreadableError as error:
        return Seen(kept, None, str(error))


def take(
    objects: Objects, claim: Claim, now: float, *, by_force: bool = False, elapsed: Callable[[], float] = elapsed_s
) -> Taken:
    """Takes the cluster's lease.

    It is free where there is none, where it has run out or was given back, and where a command in the same checkout
    held it: whoever asks has that checkout's lock, so that this command has ended.

    Args:
        objects: Those of the cluster's bucket.
        claim: Who wants it.
        now: The time of day, in seconds since the epoch.
        by_force: Takes it from a living holder, too, which can't write any more then.
        elapsed: The monotonic clock.

    Raises:
        LockedError: Another holder has it, or was faster.
        AwsError: The bucket can't be reached or written.
    """
    tried: Taken | None = None
    for _ in range(TRIES):
        seen = see(objects)
        if tried is not None and seen is not None and seen.lease is not None and seen.lease.is_of(claim.holder):
            return replace(tried, lease=seen.lease, etag=seen.kept.etag)  # the write arrived, and its answer did not
        if seen is not None and not by_force:
            _refuse_held(seen, claim)
        lease = _next(seen, claim, now)
        asked_at = elapsed() if tried is None else tried.asked_at
        tried = Taken(lease, "", asked_at, None if seen is None else seen.lease, not _is_free(seen, claim))
        try:
            etag = objects.write(
                LEASE,
                to_document(lease),
                follows=None if seen is None else seen.kept.etag,
                generation=lease.generation,
            )
        except ChangedError:
            continue
        return replace(tried, etag=etag)
    raise LockedError(
        f"Several commands want the lease of the cluster {claim.cluster} at once, and others were faster.",
        "Try again in a moment.",
    )


def _is_free(seen: Seen | None, claim: Claim) -> bool:
    """Returns whether there is no holder that lives, as far as the lease tells."""
    if seen is None or seen.lease is None:
        return seen is None
    return seen.lease.is_free(seen.kept.age_s) or seen.lease.was_of_the_checkout(claim.holder)


def _refuse_held(seen: Seen, claim: Claim) -> None:
    """Raises LockedError where another holder has the lease, or it can't be read."""
    lease = seen.lease
    if lease is None:
        unreadable = LeaseUnreadable(claim.cluster, LEASE, seen.problem)
        raise LockedError(
            as_sentence(unreadable),
            f"See that no other controller runs; then `centavo --env {claim.environment} take-over --now` replaces it.",
            reason=unreadable,
        )
    if _is_free(seen, claim):
        return
    holder = lease.holder
    held = LeaseHeld(
        lease.cluster,
        holder.user,
        holder.host,
        holder.pid,
        holder.command,
        lease.taken_at,
        seen.kept.age_s,
        lease.lasts_s,
    )
    raise LockedError(
        as_sentence(held),
        f"Wait until it ends, or take the cluster over: `centavo --env {lease.environment} take-over` waits until the "
        "lease runs out, and with `--now` takes it from a holder that lives. `centavo status --remote` works "
        "meanwhile.",
        reason=held,
    )


def _next(seen: Seen | None, claim: Claim, now: float) -> Lease:
    if seen is None:
        return claim.first(now)
    if seen.lease is None:  # no generation that was ever given may come back
        return claim.first(now, (seen.kept.generation or int(now)) + FIRST_GENERATION)
    return claim.after(seen.lease, now)
