"""Nodes that are taken back are replaced from the best pools that have room."""

from __future__ import annotations

import pytest

from controller.decide.replacing.pools import RECENT_S, Pool, chosen, recent
from controller.domain import NO_NODES, Fleet
from controller.domain.observed.fact import NoticeKind
from controller.domain.observed.spot import Noticed

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


@pytest.mark.parametrize("room", [0, -1])
def test_a_pool_without_room_takes_neither_money_nor_a_place_in_the_fleet(room: int) -> None:
    found = chosen([Pool("a", room, 0.1, 1.0), EXPENSIVE], 6, 0.65)
    assert dict(found) == {"b": 3}


def test_what_the_first_pool_costs_is_not_there_for_the_second() -> None:
    assert chosen([CHEAP, EXPENSIVE], 8, 0.85) == Fleet({"a": 4, "b": 2})


@pytest.mark.parametrize(("ago_s", "is_recent"), [(0.0, True), (RECENT_S - 1, True), (RECENT_S, False)])
def test_a_notice_counts_against_its_pool_for_ten_minutes(ago_s: float, is_recent: bool) -> None:
    noticed = [Noticed("i-1", "a", NoticeKind.REBALANCE, 5000.0 - ago_s)]
    assert recent(noticed, 5000.0) == (frozenset({"a"}) if is_recent else frozenset())
