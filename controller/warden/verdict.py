"""The decision of each switch: a pure function of how long everything has been as it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from .lease import Lease
from .look import Standing
from .waits import Waits


class Why(str, Enum):
    """Why a switch fires. The values are the codes in the lease."""

    NO_CONTROLLER = "no-controller"
    RELEASED = "released"
    ENDED = "ended"
    NO_STEP = "no-step"
    NO_LEASE = "no-lease"
    UNREAD = "bucket-unread"
    ALONE = "alone"
    FIRED = "fired"
    OUTLIVED = "outlived"


SAYS = {
    Why.NO_CONTROLLER: "no controller has renewed the lease",
    Why.RELEASED: "the controller has given the lease back, and no step is made",
    Why.ENDED: "the training has ended",
    Why.NO_STEP: "no step is made",
    Why.NO_LEASE: "the bucket holds no lease, and no step is made",
    Why.UNREAD: "the bucket cannot be read",
    Why.ALONE: "neither a valid lease nor the head is found",
    Why.FIRED: "a switch has fired before, and nobody has taken the lease since",
    Why.OUTLIVED: "the cluster has outlived its lease",
}


@dataclass(frozen=True)
class Situation:
    """What a warden knows, all of it in seconds.

    Attributes:
        standing: What the last look at the lease has found.
        lease: The last lease that could be understood; None where the bucket held none.
        age_s: The age of that lease now.
        read_s: For how long the lease has been read again and again, without a longer gap.
        unread_s: The time since a look could be understood.
        up_s: The time since the warden started.
        still_s: The time since the training was last seen to move, or to wait for capacity under a controller that
            lives, or since the warden's start.
        idle_s: The time since the launcher was last seen to work, or since the warden's start.
        released_s: The time since the lease was first seen given back.
        ended_s: How long the stage has been "ended".
        alone_s: The time since a worker last found a valid lease or the head, or since the warden's start.
    """

    standing: Standing
    lease: Lease | None = None
    age_s: float = 0.0
    read_s: float = 0.0
    unread_s: float = 0.0
    up_s: float = 0.0
    still_s: float = 0.0
    idle_s: float = 0.0
    released_s: float = 0.0
    ended_s: float = 0.0
    alone_s: float = 0.0

    @property
    def waits(self) -> Waits:
        """The waits of the last lease that was read, or the defaults."""
        return self.lease.waits if self.lease is not None else Waits()

    @property
    def is_kept(self) -> bool:
        """Whether a lease was found just now that is valid: somebody owns the cluster."""
        if self.standing is not Standing.FOUND or self.lease is None:
            return False
        return self.lease.is_owned and self.age_s <= self.lease.lasts_s

    @property
    def lacks_capacity(self) -> bool:
        """Whether the cluster's owner, who lives, waits for capacity. Without nodes no step can be made."""
        return self.is_kept and self.lease is not None and self.lease.lacks_capacity


@dataclass(frozen=True)
class Verdict:
    """A decision.

    Attributes:
        fires: Whether the switch fires now.
        why: Why it fires, or would fire next; None where nothing is waited for.
        waited_s: How long that has been so.
        limit_s: How long that may be so.
    """

    fires: bool
    why: Why | None = None
    waited_s: float = 0.0
    limit_s: float = 0.0

    def __str__(self) -> str:
        if self.why is None:
            return "all is well"
        return f"{SAYS[self.why]} for {self.waited_s:.0f} s (limit {self.limit_s:.0f} s)"


def head_verdict(now: Situation) -> Verdict:
    """Returns whether the head gives the cluster back.

    The lease's age alone is never enough: after an outage that controller and head have had in common, or after a
    suspend, the head may be the first that reaches the bucket again. A training that makes steps, and a launcher that
    works, such as for the scores, go on without a controller.
    """
    waits, lease = now.waits, now.lease
    no_step = (Why.NO_STEP, now.still_s, waits.stalled_s)
    if now.standing is Standing.UNREAD:
        return _first([(Why.UNREAD, min(now.unread_s, now.still_s), waits.worker_s), no_step])
    if now.standing is Standing.MISSING or lease is None:
        return _first([(Why.NO_LEASE, now.still_s, waits.lease_s)])
    if lease.fired_by is not None:
        return Verdict(True, Why.FIRED, now.age_s)
    reasons = [no_step]
    if lease.stage == "ended":
        reasons.append((Why.ENDED, now.ended_s, waits.ended_s))
    elif lease.released:
        reasons.append((Why.RELEASED, min(now.released_s, now.still_s, now.idle_s), waits.ended_s))
    if not lease.released:
        reasons.append((Why.NO_CONTROLLER, min(now.age_s, now.read_s), lease.lasts_s))
    return _first(reasons)


def head_ends_itself(now: Situation) -> bool:
    """Returns whether a head whose cluster was given back before ends itself now.

    A person who has started such a head again, to look at it, has some time.
    """
    return now.up_s > now.waits.ended_s


def worker_verdict(now: Situation) -> Verdict:
    """Returns whether a worker ends itself."""
    return _first([(Why.ALONE, now.alone_s, now.waits.worker_s)])


def reaper_verdict(
    standing: Standing,
    lease: Lease | None,
    age_s: float,
    newest_age_s: float | None,
    still_s: float | None = None,
) -> Verdict:
    """Returns whether the reaper ends a cluster. One without a lease, or with an unreadable one, is left alone.

    A lease that is written again and again keeps no cluster for ever in which nothing moves.

    Args:
        standing: What the look at the lease has found.
        lease: The lease.
        age_s: Its age.
        newest_age_s: The age of the training's newest object in the bucket, such as a checkpoint; None where none is
            known.
        still_s: For how long workers run without any sign of a training; None where that is not known.
    """
    if standing is not Standing.FOUND or lease is None:
        return Verdict(False)
    limit_s = lease.waits.reaper_s
    if lease.fired_by == "reaper":
        return Verdict(True, Why.FIRED, age_s)
    if lease.fired_by is not None:
        return _first([(Why.FIRED, age_s, limit_s)])
    no_step = [] if still_s is None else [(Why.NO_STEP, still_s, lease.waits.stalled_s + limit_s)]
    if not lease.released:
        return _first([(Why.OUTLIVED, age_s - lease.lasts_s, limit_s), *no_step])
    after_s = age_s - lease.waits.ended_s
    if lease.stage != "ended" and newest_age_s is not None:
        after_s = min(after_s, newest_age_s)
    return _first([(Why.OUTLIVED, after_s, limit_s), *no_step])


def _first(reasons: Iterable[tuple[Why, float, float]]) -> Verdict:
    """Returns the reason that fires, or else the one that would fire first of those that have begun to count."""
    verdicts = [Verdict(waited_s > limit_s, why, waited_s, limit_s) for why, waited_s, limit_s in reasons]
    return min(verdicts, key=lambda one: (not one.fires, one.limit_s - one.waited_s))
