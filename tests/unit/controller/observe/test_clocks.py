"""Which clocks are off."""

from __future__ import annotations

from controller.domain import Fleet, HeadSeen, LauncherState, NodeSeen, Observation, WorkerState
from controller.domain.reasons.nodes import ClockOff
from controller.observe.clocks import clocks_off


def test_clocks_that_are_off_by_more_than_a_little_are_named() -> None:
    nodes = tuple(
        NodeSeen(f"i-{place}", WorkerState.WARM, ahead_s) for place, ahead_s in enumerate([0.0, 5.0, 20.0, -300.0])
    )
    seen = Observation(0.0, Fleet({}), head=HeadSeen(LauncherState.RUNNING, clock_ahead_s=-5.1), nodes=nodes)
    assert clocks_off(seen) == (ClockOff("the head", -5.1), ClockOff("i-2", 20.0), ClockOff("i-3", -300.0))
    assert clocks_off(Observation(0.0, Fleet({}))) == ()
