"""The events of a run: moves' steps and notes."""

from __future__ import annotations

from collections.abc import Callable

from controller.record.journal import Journal


def test_events_come_back_numbered_in_their_order(begun: Journal, reopened: Callable[[], Journal]) -> None:
    begun.add_event(5.5, "growing", "capacity a -> b", 7)
    begun.add_event(6.5, "note", "hello")
    assert reopened().events() == [
        {"id": 1, "at": 5.5, "move_id": 7, "kind": "growing", "message": "capacity a -> b"},
        {"id": 2, "at": 6.5, "move_id": None, "kind": "note", "message": "hello"},
    ]


def test_only_the_events_after_a_number_come_back_when_asked(begun: Journal) -> None:
    for message in ("a", "b", "c"):
        begun.add_event(5.0, "note", message)
    assert [event["message"] for event in begun.events(1)] == ["b", "c"]


def test_a_message_is_cut_only_above_the_limit_and_says_how_much_is_left_out(begun: Journal) -> None:
    begun.add_event(5.0, "note", "x" * 4001)
    assert begun.events()[0]["message"] == "x" * 4000 + " ... (1 more characters)"
