"""Nodes that could not be made workers are left alone, each time for twice as long."""

from __future__ import annotations

from controller.act.aside import Aside
from tests.unit.controller.act.fleet_in_memory import Clock


def test_a_node_is_left_alone_for_twice_as_long_after_each_failure() -> None:
    clock = Clock()
    aside = Aside(clock, first_s=10.0)
    for alone_s in (10.0, 20.0, 40.0):
        aside.put(["i-1"], "no route")
        began = clock.at
        clock.at = began + alone_s - 0.1
        assert aside.now() == {"i-1": "no route"}
        clock.at = began + alone_s
        assert aside.now() == {}


def test_each_node_has_its_own_time_and_its_own_words() -> None:
    clock = Clock()
    aside = Aside(clock, first_s=10.0)
    aside.put(["i-1", "i-2"], "no route")
    aside.put(["i-2"], "no room")
    assert aside.now() == {"i-1": "no route", "i-2": "no room"}
    clock.at += 10.0
    assert aside.now() == {"i-2": "no room"}
