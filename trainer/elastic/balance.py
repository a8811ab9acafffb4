"""Shares of the global batch in proportion to measured speed, so that unequal nodes finish a step together.

This is load-balanced bulk synchronous parallel training (Chen et al., "Fast Distributed Deep Learning via
Worker-adaptive Batch Sizing", SoCC 2020, https://arxiv.org/abs/1806.02508). A step of B tokens takes B / sum(speeds).
With equal shares it would take what the slowest of N nodes needs for B / N. Every rank computes the same shares from
the same exchanged numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import median

_REMEMBERED_CHANGES = 4
"""A speed is the median over the steps of this many changes: single steps vary by a third, and shares must not."""


def limited(targets: Sequence[float], caps: Sequence[float | None]) -> list[float]:
    """Returns shares that add up to one, in proportion to `targets`, and none above its cap (None: no cap).

    What a rank with a cap cannot take goes to the others.

    Raises:
        ValueError: The caps add up to less than one.
    """
    shares = [target / sum(targets) for target in targets]
    room = [1.0 if cap is None else cap for cap in caps]
    if sum(room) < 1 - 1e-9:
        raise ValueError(f"the ranks' memory has room for {sum(room):.0%} of the global batch: make it smaller")
    capped: set[int] = set()
    while over := {rank for rank in range(len(shares)) if rank not in capped and shares[rank] > room[rank] + 1e-12}:
        capped |= over
        free = [rank for rank in range(len(shares)) if rank not in capped]
        left = 1.0 - sum(room[rank] for rank in capped)
        weight = sum(targets[rank] for rank in free)
        for rank in range(len(shares)):
            shares[rank] = room[rank] if rank in capped else targets[rank] / weight * left
    return shares


def step_towards(
    shares: Sequence[float], speeds: Sequence[float], max_change: float, caps: Sequence[float | None]
) -> list[float]:
    """Returns the next shares: closer to `speeds` (in any unit), each changed by at most `max_change` of itself.

    The shares add up to one, so that a last scaling may take one slightly past the bound.
    """
    targets = [speed / sum(speeds) for speed in speeds]
    bounded = [
        min(max(target, share * (1 - max_change)), share * (1 + max_change))
        for target, share in zip(targets, shares, strict=True)
    ]
    return limited(bounded, caps)


class Balancer:
    """The shares of the ranks of a world, which move towards the ranks' speeds every `every_steps` steps."""

    def __init__(self, every_steps: int, max_change: float, enabled: bool = True) -> None:
        self._every_steps, self._max_change, self._enabled = every_steps, max_change, enabled
        self._recent: list[deque[float]] = []
        self._caps: list[float | None] = []
        self._steps = 0
        self.shares: list[float] = [1.0]

    def begin(self, speeds: Sequence[float | None], caps: Sequence[float | None]) -> None:
        """Begins a new world.

        Args:
            speeds: The speed of each rank, where it is known. A rank of unknown speed counts as the mean of the others.
                Where balancing is off, all count the same.
            caps: The largest share that each rank's memory has room for; None: all of the batch.
        """
        known = [speed for speed in speeds if speed is not None and speed > 0]
        usual = sum(known) / len(known) if known else 1.0
        targets = [speed if speed and self._enabled else usual for speed in speeds]
        self._caps = list(caps)
        self._recent = [deque(maxlen=_REMEMBERED_CHANGES * self._every_steps) for _ in speeds]
        self._steps = 0
        self.shares = limited(targets, self._caps)

    def observe(self, tokens: Sequence[float], compute_times_s: Sequence[float]) -> bool:
        """Takes each rank's target tokens and compute time in a step. Returns whether the shares have changed."""
        for recent, count, seconds in zip(self._recent, tokens, compute_times_s, strict=True):
            if count > 0 and seconds > 0:
                recent.append(count / seconds)
        self._steps += 1
        if not self._enabled or len(self.shares) == 1 or self._steps % self._every_steps:
            return False
        if not all(self._recent):
            return False
        speeds = [median(recent) for recent in self._recent]
        following = step_towards(self.shares, speeds, self._max_change, self._caps)
        if max(abs(new - old) / old for new, old in zip(following, self.shares, strict=True)) < 0.02:
            return False  # a change this small is noise, and would cost the batches that are made ahead
        self.shares = following
        return True

    def speed(self, rank: int) -> float | None:
        """Returns the measured speed of a rank in target tokens per second, or None."""
        recent = self._recent[rank] if rank < len(self._recent) else None
        return median(recent) if recent else None
