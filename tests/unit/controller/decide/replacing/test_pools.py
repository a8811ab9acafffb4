"""Nodes that are taken back are replaced from the best pools that have room."""

from __future__ import annotations

from controller.decide.replacing.pools import Pool, chosen
from controller.domain import NO_NODES, Fleet

CHEAP, EXPENSIVE = Pool("a", 4, 0.1, 1.0), Pool("b", 4, 0.2, 2.0)


def test_the_cheapest_work_comes_first() -> None:
    assert chosen([EXPENSIVE, CHEAP], 3) == Fleet({"a": 3})


def test_what_one_pool_has_no_room_for_comes_from_the_next() -> None:
    assert chosen([CHEAP, EXPENSIVE], 6) == Fleet({"a": 4, "b": 2})
    assert chosen([CHEAP, EXPENSIVE], 20).size == 8


def test_a_pool_that_just_took_a_node_back_comes_last() -> None:
    assert chosen([Pool("a", 4, 0.1, 1.0, is_recent=True), EXPENSIVE], 2) == Fleet({"b": 2})
    assert chosen([Pool("a", 4, 0.1, 1.0, is_recent=True)], 2) == Fleet({"a": 2}), "but it is better than none"


def test_a_pool_whose_speed_is_known_comes_before_one_that_may_be_slow() -> None:
    assert chosen([Pool("a", 4, 0.1, 0.01, is_measured=False), EXPENSIVE], 1) == Fleet({"b": 1})


def test_the_limit_on_cost_holds() -> None:
    assert chosen([CHEAP, EXPENSIVE], 6, 0.35) == Fleet({"a": 3})
    assert chosen([CHEAP, EXPENSIVE], 6, 0.05) == NO_NODES
