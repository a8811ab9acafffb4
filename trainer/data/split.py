"""Cutting a global batch into the parts of the ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trainer.data.samples import Lengths


def split(indices: Sequence[int], lengths: Sequence[Lengths], shares: Sequence[float]) -> list[list[int]]:
    """Cuts a global batch into one list of samples for each rank, with target tokens in proportion to `shares`.

    Every sample goes to exactly one rank. No rank is empty where there are as many samples as ranks. The same arguments
    give the same cut on every rank.

    Args:
        indices: The samples of the global batch.
        lengths: The lengths of all samples of the epoch.
        shares: One positive number for each rank. They need not add up to one.

    Raises:
        ValueError: A share is not positive, or there is none.
    """
    if not shares or min(shares) <= 0:
        raise ValueError(f"shares must be positive, not {list(shares)}")
    ranks, count = len(shares), len(indices)
    weights = np.array([lengths[index][1] for index in indices], dtype=np.float64)
    middles = np.cumsum(weights) - weights / 2
    ends = np.cumsum(np.array(shares, dtype=np.float64)) / sum(shares) * weights.sum()
    cuts = [0, *(int(cut) for cut in np.searchsorted(middles, ends[:-1])), count]
    if count >= ranks:
        for rank in range(1, ranks):
            cuts[rank] = min(max(cuts[rank], cuts[rank - 1] + 1), count - (ranks - rank))
    return [list(indices[start:end]) for start, end in pairwise(cuts)]
