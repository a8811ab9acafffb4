"""The arrays of a batch hold its samples and their padding."""

from __future__ import annotations

import numpy as np
import pytest

from trainer.data.batch import collate


def test_collate_pads_and_counts() -> None:
    batch = collate([([5, 3], [2, 6, 7, 3]), ([5, 6, 7, 8, 3], [2, 6, 3])], pad_id=0, multiple=4)
    assert batch.src.tolist() == [[5, 3, 0, 0, 0, 0, 0, 0], [5, 6, 7, 8, 3, 0, 0, 0]]
    assert batch.tgt.tolist() == [[2, 6, 7, 3, 0], [2, 6, 3, 0, 0]]
    assert (batch.src.dtype, batch.src_len.dtype) == (np.int32, np.float32)
    assert (batch.src_len.tolist(), batch.tgt_len.tolist()) == ([2, 5], [4, 3])
    assert batch.target_tokens == 5
    assert batch.padding_share == pytest.approx(12 / 26)


def test_collate_makes_few_shapes() -> None:
    samples = [([4] * length, [2, *[4] * length, 3]) for length in range(1, 41)]
    assert len({collate([sample], 0).src.shape for sample in samples}) == 5


def test_collate_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        collate([], 0)
