"""The world sizes that caps and limits leave."""

from __future__ import annotations

import pytest

from controller.decide.limits.bounds import Bounds


@pytest.mark.parametrize(
    ("bounds", "sizes"),
    [
        (Bounds({"a": 2, "b": 3}), [1, 2, 3, 4, 5]),
        (Bounds({"a": 2, "b": 3}, min_nodes=4), [4, 5]),
        (Bounds({"a": 2, "b": 3}, min_nodes=0), [1, 2, 3, 4, 5]),
        (Bounds({"a": 2, "b": 3}, max_nodes=3), [1, 2, 3]),
        (Bounds({"a": 2, "b": 3}, max_nodes=9), [1, 2, 3, 4, 5]),
        (Bounds({"a": 2, "b": 3}, 5, 5), [5]),
        (Bounds({"a": 2}, 3), []),
        (Bounds({}), []),
    ],
)
def test_the_sizes_are_those_that_caps_and_limits_leave(bounds: Bounds, sizes: list[int]) -> None:
    assert list(bounds.sizes) == sizes
