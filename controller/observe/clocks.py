"""The clocks of the nodes: which of them are off."""

from __future__ import annotations

from controller.domain import Observation
from controller.domain.reasons.nodes import ClockOff

MOST_OFF_S = 5.0
"""A clock that is off by more is told to people. Its node's facts are used all the same, with their times corrected."""
HEAD = "the head"


def clocks_off(observation: Observation) -> tuple[ClockOff, ...]:
    """Returns the nodes of an observation, the head included, whose clocks are off."""
    head = {} if observation.head is None else {HEAD: observation.head.clock_ahead_s}
    measured = head | {node.instance_id: node.clock_ahead_s for node in observation.nodes}
    return tuple(ClockOff(node, ahead_s) for node, ahead_s in measured.items() if abs(ahead_s) > MOST_OFF_S)
