"""A fleet: a number of nodes of each flavor."""

from __future__ import annotations

from controller.domain import Fleet

MIXED = Fleet({"c5.large": 3, "t2.large": 1, "t2.medium": 0})


def test_a_fleet_is_counted_from_the_flavors_of_its_nodes() -> None:
    assert Fleet.counted(["c5.large", "t2.large", "c5.large"]) == Fleet({"c5.large": 2, "t2.large": 1})
    assert Fleet.counted([]) == Fleet({})


def test_what_a_fleet_has_beyond_another_is_the_surplus_of_each_flavor() -> None:
    assert MIXED.beyond(Fleet({"c5.large": 1, "t2.large": 4})) == Fleet({"c5.large": 2})
    assert dict(MIXED.beyond(Fleet({}))) == {"c5.large": 3, "t2.large": 1}
    assert not MIXED.beyond(MIXED)


def test_a_union_has_the_larger_count_of_each_flavor() -> None:
    assert MIXED.union(Fleet({"t2.large": 2})) == Fleet({"c5.large": 3, "t2.large": 2})
