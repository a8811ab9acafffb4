"""What a warden remembers of its looks: since when each thing has been so, by the clock that counts since the boot."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .lease import Lease
from .look import Look, Standing
from .verdict import Situation


@dataclass(frozen=True)
class Signs:
    """What a warden sees of its own node beside the lease.

    Attributes:
        step: The last step that the launcher has told; None where it tells none. The head alone knows it.
        head_answers: Whether the head answers. A worker asks.
    """

    step: int | None = None
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
        moved_at: When the training was last seen to move: a new step, another stage, another holder.
        step: The last step.
        ended_at: When the stage "ended" was first seen; None while it is another one.
        kept_at: When the lease was last seen valid, or the head answering.
    """

    started_at: float
    look: Look | None = None
    lease: Lease | None = None
    standing: Standing = Standing.UNREAD
    looked_at: float = 0.0
    moved_at: float = 0.0
    step: int | None = None
    ended_at: float | None = None
    kept_at: float = 0.0

    @classmethod
    def begun(cls, now: float) -> Memory:
        """Returns the memory of a warden that starts now: nothing has been seen, and all waiting begins."""
        return cls(started_at=now, looked_at=now, moved_at=now, kept_at=now)

    def after(self, look: Look, signs: Signs, now: float) -> Memory:
        """Returns the memory after one more look."""
        known = replace(self, standing=look.standing)
        if look.standing is not Standing.UNREAD:
            known = replace(known, look=look, looked_at=now, lease=look.lease)
        step = signs.step if signs.step is not None else None if known.lease is None else known.lease.step
        moved = (step is not None and step != self.step) or _is_another(self.lease, known.lease)
        is_kept = signs.head_answers or known.situation(now).is_kept
        has_ended = known.lease is not None and known.lease.stage == "ended"
        return replace(
            known,
            step=self.step if step is None else step,
            moved_at=now if moved else self.moved_at,
            ended_at=(now if self.ended_at is None else self.ended_at) if has_ended else None,
            kept_at=now if is_kept else self.kept_at,
        )

    def situation(self, now: float) -> Situation:
        """Returns how long everything has been as it is."""
        look = self.look
        return Situation(
            standing=self.standing,
            lease=self.lease,
            age_s=0.0 if look is None else look.age_s + now - self.looked_at,
            unread_s=now - self.looked_at,
            up_s=now - self.started_at,
            still_s=now - self.moved_at,
            ended_s=0.0 if self.ended_at is None else now - self.ended_at,
            alone_s=now - self.kept_at,
        )


def _is_another(before: Lease | None, lease: Lease | None) -> bool:
    """Returns whether the lease has another holder, run or stage than before."""
    if before is None or lease is None:
        return False
    return (before.generation, before.run, before.stage) != (lease.generation, lease.run, lease.stage)
