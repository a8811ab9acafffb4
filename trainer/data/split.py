"""Cutting a global batch, or any number of sentences, into the parts of the ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def split(indices: ArrayLike, lengths: ArrayLike, shares: Sequence[float]) -> list[NDArray[Any]]:
    """Cuts a global batch into the samples of each rank, with target tokens in proportion to `shares`.

    Every sample goes to exactly one rank. No rank is empty where there are as many samples as ranks. The same arguments
    give the same cut on every rank.

    Args:
        indices: The samples of the global batch. Shape (samples of the batch,).
        lengths: The lengths of all samples on both sides. Shape (samples, 2).
        shares: One positive number for each rank. They need not add up to one.

    Raises:
        ValueError: A share is not positive, or there is none.
    """
    if not shares or min(shares) <= 0:
        raise ValueError(f"shares must be positive, not {list(shares)}")
    batch = np.asarray(indices)
    ranks, count = len(shares), len(batch)
    weights = np.asarray(lengths)[batch, 1].astype(np.float64)  # (samples of the batch,)
    middles = np.cumsum(weights) - weights / 2
    ends = np.cumsum(np.array(shares, dtype=np.float64)) / sum(shares) * weights.sum()
    cuts = [0, *(int(cut) for cut in np.searchsorted(middles, ends[:-1])), count]
    if count >= ranks:
        for rank in range(1, ranks):
            cuts[rank] = min(max(cuts[rank], cuts[rank - 1] + 1), count - (ranks - rank))
    return [batch[start:end] for start, end in pairwise(cuts)]


def deal(lengths: Sequence[int], shares: Sequence[float]) -> list[list[int]]:
    """Deals sentences out, so that ranks whose speeds are as `shares` finish at about the same time.

    The longest sentence goes first, and each goes to the rank that would have done it first (the rule of the longest
    processing time, Graham 1969, https://doi.org/10.1137/0117039). So all ranks get a mixture of lengths. The same
    arguments give the same parts on every rank.

    Args:
        lengths: How long each sentence is, in any unit.
        shares: One positive number for each rank. They need not add up to one.

    Returns:
        For each rank the indices of its sentences, in rising order.
    """
    speeds, loads = np.array(shares, dtype=np.float64), np.zeros(len(shares))
    parts: list[list[int]] = [[] for _ in shares]
    for index in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        rank = int(np.argmin((loads + lengths[index]) / speeds))
        loads[rank] += lengths[index]
        parts[rank].append(index)
    return [sorted(part) for part in parts]
