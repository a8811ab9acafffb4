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


PROBE = Move(
    1, 0.0, Fleet({"a": 4, "b": 1}), Fleet({"a": 2, "b": 2, "c": 1, "d": 1}), Said("to measure"), is_probe=True
)


@pytest.mark.parametrize(
    ("flavors", "target", "left_out"),
    [
        ({"c"}, {"a": 2, "b": 2, "d": 1}, {"c": 1}),
        ({"b"}, {"a": 2, "b": 1, "c": 1, "d": 1}, {"b": 1}),
        ({"c", "d"}, {"a": 2, "b": 2}, {"c": 1, "d": 1}),
    ],
    ids=["a first node", "a second node", "two flavors"],
)
def test_a_probe_goes_on_without_some_of_the_flavors_that_it_measures(
    flavors: set[str], target: Mapping[str, int], left_out: Mapping[str, int]
) -> None:
    rest = PROBE.without(flavors)
    assert rest is not None
    assert (rest.target, rest.left_out) == (Fleet(target), Fleet(left_out))
    assert rest.source == PROBE.source and not {*rest.probed} & flavors


def test_what_a_probe_went_on_without_adds_up() -> None:
    first = PROBE.without({"c"})
    assert first is not None
    second = first.without({"d"})
    assert second is not None and second.left_out == Fleet({"c": 1, "d": 1})


@pytest.mark.parametrize("flavors", [{"b", "c", "d"}, {"a"}, {"a", "c"}, {"e"}])
def test_nothing_goes_on_without_all_that_it_adds_or_without_what_is_not_measured(flavors: set[str]) -> None:
    assert PROBE.without(flavors) is None


def test_a_move_that_measures_nothing_does_not_go_on_without_a_flavor() -> None:
    assert Move(1, 0.0, PROBE.source, PROBE.target, Said("cheaper")).without({"c"}) is None
