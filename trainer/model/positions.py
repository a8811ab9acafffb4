"""Where a token stands, as sinusoids (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sinusoids(length: int, units: int) -> NDArray[np.float32]:
    """The encodings of positions 0 to `length` - 1, shape (length, units).

    Unit 2i of position p is sin(p / 10000 ** (2i / units)), and unit 2i + 1 the cosine of the same angle: a shift by
    some positions is then one rotation, wherever it begins. GluonNLP 0.10 takes a unit's own number for i, so that no
    sine has its cosine and the upper half of the units hardly change within a sentence.
    """
    pairs = np.arange(units) // 2
    angles = np.arange(length)[:, None] / 10000 ** (2 * pairs / units)
    return np.where(np.arange(units) % 2, np.cos(angles), np.sin(angles)).astype(np.float32)
