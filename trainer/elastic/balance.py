"""Shares of the global batch in proportion to measured speed, so that unequal nodes finish a step together.

Load-balanced bulk synchronous parallel training (Chen et al., "Fast Distributed Deep Learning via Worker-adaptive
Batch Sizing", SoCC 2020, https://arxiv.org/abs/1806.02508). A step of B tokens then takes B / sum(speeds), instead of
what the slowest node needs for B / N. Every rank computes the same shares from the same exchanged numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import median

_REMEMBERED_CHANGES = 4
"""A speed is the median over the steps of so many changes: a step varies by a third, the shares must not."""


def limited(targets: Sequence[float], caps: Sequence[float | None]) -> list[float]:
    """Shares that add up to one, in proportion to `targets` and none above its cap (None: no cap).

    What a capped rank cannot take goes to the others. When the caps add up to less than one, no cut can respect them
    all: ValueError.
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
    """The next shares: towards `speeds` (any unit), no share changing by more than `max_change` of itself.

    The sum stays one, so a last scaling may take a share slightly past the bound.
    """
    targets = [speed / sum(speeds) for speed in speeds]
    bounded = [
        min(max(target, share * (1 - max_change)), share * (1 + max_change))
        for target, share in zip(targets, shares, strict=True)
    ]
    return limited(bounded, caps)


class Balancer:
    """Keeps the shares of a world of ranks, and moves them every `every_steps` steps."""

    def __init__(self, every_steps: int, max_change: float, enabled: bool = True) -> None:
        self._every_steps, self._max_change, self._enabled = every_steps, max_change, enabled
        self._recent: list[deque[float]] = []
        self._caps: list[float | None] = []
        self._steps = 0
        self.shares: list[float] = [1.0]

    def begin(self, speeds: Sequence[float | None], caps: Sequence[float | None]) -> None:
        """A new world: one entry per rank, its speed where it is known, and the largest share its memory allows.

        A rank of unknown speed counts as the mean of the known ones; balancing off, all count the same.
        """
        known = [speed for speed in speeds if speed is not None and speed > 0]
        usual = sum(known) / len(known) if known else 1.0
        targets = [speed if speed and self._enabled else usual for speed in speeds]
        self._caps = list(caps)
        self._recent = [deque(maxlen=_REMEMBERED_CHANGES * self._every_steps) for _ in speeds]
        self._steps = 0
        self.shares = limited(targets, self._caps)

    def observe(self, tokens: Sequence[float], compute_times_s: Sequence[float]) -> bool:
        """Take one step's target tokens and compute time of each rank. Returns whether the shares have changed."""
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
            return False  # noise: a change costs the batches that are made ahead
        self.shares = following
        return True

    def speed(self, rank: int) -> float | None:
        """The rank's measured speed in target tokens per second, None while there is none."""
        recent = self._recent[rank] if rank < len(self._recent) else None
        return median(recent) if recent else None
