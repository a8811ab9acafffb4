"""Fleets in words, in few words, and within a text."""

from __future__ import annotations

from controller.domain import Fleet
from controller.words.fleets import brief, short, with_short_fleets

MIXED = Fleet({"a": 2, "b": 1, "c": 1})


def test_a_fleet_with_as_many_nodes_of_each_flavor_says_that_number_once() -> None:
    assert brief(Fleet({"a": 1, "b": 1, "c": 1})) == "1 each of a, b, c"
    assert brief(MIXED) == "2 x a, 1 x b, 1 x c"
    assert brief(Fleet({"a": 2, "b": 2})) == "2 x a, 2 x b"


def test_a_fleet_of_many_flavors_is_counted() -> None:
    assert short(MIXED) == "4 nodes of 3 flavors"
    assert short(Fleet({"a": 2, "b": 1})) == "2 x a, 1 x b"


def test_fleets_within_a_text_are_shortened_and_the_rest_stays() -> None:
    assert with_short_fleets(f"from {MIXED} to 6 x a", [MIXED, Fleet({})]) == "from 4 nodes of 3 flavors to 6 x a"
