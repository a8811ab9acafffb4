"""The level of a node's speed: since when it holds, and whether it is what is left after a fall.

A change-point test finds the last change. A node's level has changed where the median of its last
`RECENT_SAMPLES` windows x differs from the median of its earlier ones y:

    |median(x) - median(y)| > max(SHIFT, 3 sigma),   sigma = 1.4826 median |y - median(y)|

in logarithms of speed. It is Hampel's identifier (Davies and Gather, "The Identification of Multiple Outliers", Journal
of the American Statistical Association 88, 1993) for a group of samples: medians, so that single windows with a heavy
tail change nothing. The change is put where the samples cross the middle of both levels. Three windows after it, it is
found. Where most nodes of a flavor that run fall together and far, three windows of all of them are enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.decide.samples.windows import Sample, median

RECENT_SAMPLES = 3
HISTORY_SAMPLES = 20
SHIFT = 0.10
"""A node has changed when its last samples differ by more than this share. Its earlier samples no longer count."""
COMMON_FALL = 0.30
"""Nodes of a flavor fall far where each of them loses more than this share of its speed."""
COMMON_SHARE = 0.75
"""They fall together where this share of them does."""
STEADY_SHARE = 1 / 3
"""A lower level is steady where its samples vary by less than this share of the drop."""
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Fall:
    """A node whose speed has fallen to a lower level, and has stayed there.

    Attributes:
        before: The logarithm of its speed before.
        after: The logarithm of its speed since.
        at: When its first slow window was seen, seconds since the epoch.
    """

    before: float
    after: float
    at: float

    @property
    def drop(self) -> float:
        """How much lower the level is now."""
        return self.before - self.after


def since_last_shift(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Returns the samples since the node's speed last changed for good (burst credits spent, a noisy neighbour)."""
    samples = samples[-HISTORY_SAMPLES:]
    return samples[_last_shift(samples) :]


def _last_shift(samples: Sequence[Sample], windows: int = RECENT_SAMPLES) -> int:
    """Returns the index at which the present level begins, by so many windows; 0 where no change is found."""
    if len(samples) < 2 * windows:
        return 0
    recent = [sample.log_speed for sample in samples[-windows:]]
    level, earlier = median(recent), [sample.log_speed for sample in samples[:-windows]]
    before = median(earlier)
    spread = MAD_TO_SIGMA * median([abs(value - before) for value in earlier])
    if abs(level - before) <= max(SHIFT, 3 * spread):
        return 0
    boundary = (level + before) / 2
    first = len(samples)
    while first > 0 and (samples[first - 1].log_speed > boundary) == (level > boundary):
        first -= 1
    return min(first, len(samples) - windows)


def common_falls(nodes: Mapping[str, Sequence[Sample]]) -> dict[str, Fall]:
    """Returns by instance how most of the nodes that run have fallen together; none where they have not.

    Each has a few windows since, but all of them together have as many as are asked of a single node. Nodes that began
    later may be as fast as before.
    """
    latest = max(samples[-1].at for samples in nodes.values())
    running = {node: samples for node, samples in nodes.items() if samples[-1].at == latest}
    windows = math.ceil(RECENT_SAMPLES / len(running))
    if windows >= RECENT_SAMPLES:
        return {}
    found = {node: fall for node, samples in running.items() if (fall := last_fall(samples, windows)) is not None}
    far = {node: fall for node, fall in found.items() if fall.drop > -math.log(1 - COMMON_FALL)}
    middle = median([fall.drop for fall in far.values()]) if far else 0.0
    alike = {n: fall for n, fall in far.items() if abs(fall.drop - middle) <= STEADY_SHARE * middle}
    return alike if len(alike) >= COMMON_SHARE * len(running) else {}


def last_fall(samples: Sequence[Sample], windows: int = RECENT_SAMPLES) -> Fall | None:
    """Returns the fall after which the node's present level holds; None where its speed did not fall, or rose again.

    The samples are gone through as they came, since a fall that lies far back has few samples before it. The lower
    level has to be steady: a few windows with a heavy tail are slow, too, but each by another amount.

    Args:
        samples: The node's windows, oldest first.
        windows: How many windows at the lower level it takes.
    """
    samples = samples[-HISTORY_SAMPLES:]
    if not _differs(samples, windows):
        return None
    for seen in range(2 * windows, len(samples) + 1):
        index = _last_shift(samples[:seen], windows)
        if index:
            before, after = _level(samples[:index]), _level(samples[index:])
            if after < before - SHIFT and _is_steady(samples[seen - windows : seen], before - after):
                return Fall(before, after, samples[index].at)
    return None


def _level(samples: Sequence[Sample]) -> float:
    return median([sample.log_speed for sample in samples])


def _differs(samples: Sequence[Sample], windows: int) -> bool:
    """Tells at little cost whether the node was faster when it began."""
    return _level(samples[:windows]) - _level(samples[-windows:]) > SHIFT


def _is_steady(samples: Sequence[Sample], drop: float) -> bool:
    """Tells whether samples lie close together, compared with how far the level has dropped."""
    levels = [sample.log_speed for sample in samples]
    return max(levels) - min(levels) <= max(SHIFT, drop * STEADY_SHARE)
