"""What a move tells of itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller.domain import Fleet, Move
from controller.domain.reasons import Said


@pytest.mark.parametrize(
    ("source", "target", "probed"),
    [
        ({"a": 4}, {"a": 3, "b": 1, "c": 1}, ("b", "c")),
        ({"a": 4, "b": 1}, {"a": 4, "b": 2}, ("b",)),
        ({"a": 4, "b": 1}, {"a": 4, "b": 3}, ()),
        ({"a": 4, "b": 2}, {"a": 5, "b": 1}, ()),
    ],
    ids=["two first nodes", "a second node", "two more nodes", "another fleet"],
)
def test_a_probe_measures_flavors_of_which_it_adds_the_first_node_or_the_second(
    source: Mapping[str, int], target: Mapping[str, int], probed: tuple[str, ...]
) -> None:
    move = Move(1, 0.0, Fleet(source), Fleet(target), Said("to measure"), is_probe=True)
    assert move.probed == probed
    assert Move(1, 0.0, Fleet(source), Fleet(target), Said("cheaper")).probed == ()
