"""Sentences become ids."""

from __future__ import annotations

import numpy as np

from trainer.data.samples import encode_pairs


class Letters:
    bos_id, eos_id = 2, 3

    def encode(self, sentence: str) -> list[int]:
        return [ord(letter) for letter in sentence]


def test_pairs_are_encoded_with_their_ends() -> None:
    samples = encode_pairs(Letters(), [("ab", "c"), ("", "a")])
    assert samples[:] == [([97, 98, 3], [2, 99, 3]), ([3], [2, 97, 3])]
    assert samples.lengths.tolist() == [[3, 3], [1, 3]]


def test_selected_samples_share_their_ids() -> None:
    samples = encode_pairs(Letters(), [("a", "b"), ("c", "d"), ("e", "f")])
    chosen = samples.select(np.array([2, 0]))
    assert list(chosen) == [samples[2], samples[0]]
    assert chosen.ids is samples.ids
