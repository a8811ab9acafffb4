"""The encoding of positions by sinusoids (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PADDING = 64
"""So many positions more are encoded than a sentence has ids at most: arrays are padded, the longest sentence, too."""


def sinusoids(length: int, units: int) -> NDArray[np.float32]:
    """Returns the encodings of positions 0 to `length` - 1, shape (length, units).

    Unit 2i of position p is sin(p / 10000 ** (2i / units)), and unit 2i + 1 is the cosine of the same angle. So a shift
    by some positions is the same rotation wherever it begins. GluonNLP 0.10 takes a unit's own number for i. Then no
    sine has its cosine, and the upper half of the units hardly changes within a sentence.
    """
    pairs = np.arange(units) // 2
    angles = np.arange(length)[:, None] / 10000 ** (2 * pairs / units)
    return np.where(np.arange(units) % 2, np.cos(angles), np.sin(angles)).astype(np.float32)
