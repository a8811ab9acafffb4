"""How often spot capacity came and went."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MEMORY_S = 48 * 3600.0
"""What was seen so long ago counts 1/e of what is seen now: pools change within days."""


@dataclass(frozen=True)
class Stays:
    """How a pool came and went: the sufficient statistics of a Markov chain with two states.

    Attributes:
        up_s: How long it had capacity.
        down_s: How long it had none.
        losses: How often it lost its capacity.
        returns: How often it got capacity again.
    """

    up_s: float = 0.0
    down_s: float = 0.0
    losses: float = 0.0
    returns: float = 0.0

    def after(self, was: bool, now: bool, passed_s: float) -> Stays:
        """Returns what is known after a step."""
        kept = math.exp(-passed_s / MEMORY_S)
        return Stays(
            self.up_s * kept + passed_s * was,
            self.down_s * kept + passed_s * (not was),
            self.losses * kept + (was and not now),
            self.returns * kept + (now and not was),
        )


@dataclass(frozen=True)
class Seen:
    """What was seen of some pools.

    Attributes:
        pools: What was seen of each.
        together: What was seen of them as one pool, which has capacity where any has.
        last: Which had capacity at the last look; empty before the first.
    """

    pools: tuple[Stays, ...] = ()
    together: Stays = Stays()
    last: tuple[bool, ...] = ()

    def after(self, available: Iterable[bool], passed_s: float) -> Seen:
        """Returns what is known after another look, so long after the last."""
        now = tuple(available)
        if not self.last:
            return Seen(tuple(Stays() for _ in now), Stays(), now)
        pools = tuple(
            stays.after(was, is_now, passed_s) for stays, was, is_now in zip(self.pools, self.last, now, strict=True)
        )
        return Seen(pools, self.together.after(any(self.last), any(now), passed_s), now)
