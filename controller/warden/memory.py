"""What a warden remembers of its looks: since when each thing has been so, by the clock that counts since the boot."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .lease import Lease
from .look import Look, Standing
from .verdict import Situation
from .waits import pause_between_looks_s

GAP_OF_A_LEASE, GAP_IN_PAUSES = 0.25, 3
"""Looks that are further apart than this share of the lease, and than so many pauses, begin a new row."""


@dataclass(frozen=True)
class Signs:
    """What a warden sees of its own node beside the lease.

    Attributes:
        step: The last step that the launcher has told; None where it tells none. The head alone knows it.
        work: What the launcher has told last, if that was work; None otherwise. It differs each time it tells anything.
        head_answers: Whether the head answers. A worker asks.
    """

    step: int | None = None
    work: str | None = None
    head_answers: bool = False


@dataclass(frozen=True)
class Memory:
    """All that is remembered. Times are in seconds of the clock that counts since the boot.

    Attributes:
        started_at: When the warden started.
        look: The last look that could be understood.
        lease: The last lease.
        standing: What the last look has found, whether it could be understood or not.
        looked_at: When `look` was made.
        row_at: When the row of looks without a longer gap began.
        moved_at: When the training was last seen to move: a new step, another stage, another run. A wait for capacity
            counts as well, as long as the controller lives.
        step: The last step that the launcher has told.
        told_step: The last step in the lease.
        worked_at: When the launcher was last seen to work.
        work: What the launcher had told then.
        released_at: When the lease was first seen given back; None while it is held.
        ended_at: When the stage "ended" was first seen with its holder; None while it is another one.
        kept_at: When the lease was last seen valid, or the head answering.
    """

    started_at: float
    look: Look | None = None
    lease: Lease | None = None
    standing: Standing = Standing.UNREAD
    looked_at: float = 0.0
    row_at: float = 0.0
    moved_at: float = 0.0
    step: int | None = None
    told_step: int | None = None
    worked_at: float = 0.0
    work: str | None = None
    released_at: float | None = None
    ended_at: float | None = None
    kept_at: float = 0.0

    @classmethod
    def begun(cls, now: float) -> Memory:
        """Returns the memory of a warden that starts now: nothing has been seen, and all waiting begins."""
        return cls(started_at=now, looked_at=now, row_at=now, moved_at=now, worked_at=now, kept_at=now)

    def after(self, look: Look, signs: Signs, now: float) -> Memory:
        """Returns the memory after one more look."""
        known = self._having_read(look, now)
        told_step = None if known.lease is None else known.lease.step
        steps = (signs.step, self.step), (told_step, self.told_step)
        moved = any(new not in (None, old) for new, old in steps) or _is_other_work(self.lease, known.lease)
        works = signs.work not in (None, self.work)
        seen = known.situation(now)
        return replace(
            known,
            step=self.step if signs.step is None else signs.step,
            told_step=self.told_step if told_step is None else told_step,
            moved_at=now if moved or seen.lacks_capacity else self.moved_at,
            worked_at=now if works else self.worked_at,
            work=signs.work if works else self.work,
            kept_at=now if signs.head_answers or seen.is_kept else self.kept_at,
        )

    def _having_read(self, look: Look, now: float) -> Memory:
        """Returns the memory after what the bucket has answered."""
        if look.standing is Standing.UNREAD:
            return replace(self, standing=look.standing)
        lease = look.lease
        is_released = lease is not None and lease.released
        has_ended = lease is not None and lease.stage == "ended"
        is_known = self.ended_at is not None and not _has_new_holder(self.lease, lease)
        return replace(
            self,
            standing=look.standing,
            look=look,
            looked_at=now,
            lease=lease,
            row_at=now if now - self.looked_at > _longest_gap_s(lease) else self.row_at,
            released_at=(now if self.released_at is None else self.released_at) if is_released else None,
            ended_at=(self.ended_at if is_known else now) if has_ended else None,
        )

    def situation(self, now: float) -> Situation:
        """Returns how long everything has been as it is."""
        look = self.look
        return Situation(
            standing=self.standing,
            lease=self.lease,
            age_s=0.0 if look is None else look.age_s + now - self.looked_at,
            read_s=now - self.row_at,
            unread_s=now - self.looked_at,
            up_s=now - self.started_at,
            still_s=now - self.moved_at,
            idle_s=now - self.worked_at,
            released_s=0.0 if self.released_at is None else now - self.released_at,
            ended_s=0.0 if self.ended_at is None else now - self.ended_at,
            alone_s=now - self.kept_at,
        )


def _is_other_work(before: Lease | None, lease: Lease | None) -> bool:
    """Returns whether the lease tells of another run or stage than before, or was taken after a switch had fired.

    A new holder alone is no sign of life: a controller that crashes again and again takes the lease each time.
    """
    if before is None or lease is None:
        return False
    is_taken_anew = before.fired_by is not None and lease.fired_by is None
    return is_taken_anew or (before.run, before.stage) != (lease.run, lease.stage)


def _has_new_holder(before: Lease | None, lease: Lease | None) -> bool:
    """Returns whether somebody holds the lease who did not before: the run that has ended is not theirs."""
    if before is None or lease is None:
        return False
    return lease.generation != before.generation and not lease.released


def _longest_gap_s(lease: Lease | None) -> float:
    """Returns how long after a look the next one still belongs to the same row.

    A controller that lives renews its lease about once in it. No lease runs out in an outage or a suspend as short.
    """
    lasts_s = Lease("").lasts_s if lease is None else lease.lasts_s
    return max(lasts_s * GAP_OF_A_LEASE, GAP_IN_PAUSES * pause_between_looks_s(lasts_s))
