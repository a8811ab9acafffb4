"""Sentences become ids."""

from __future__ import annotations

from trainer.data.samples import encode_pairs


class Letters:
    bos_id, eos_id = 2, 3

    def encode(self, sentence: str) -> list[int]:
        return [ord(letter) for letter in sentence]


def test_pairs_are_encoded_with_their_ends_and_long_ones_counted() -> None:
    encoded = encode_pairs(Letters(), [("ab", "c"), ("a" * 20, "b"), ("a", "b" * 20)], max_tokens=10)
    assert encoded.samples == [([97, 98, 3], [2, 99, 3])]
    assert (encoded.lengths, encoded.too_long) == ([(3, 3)], 2)
