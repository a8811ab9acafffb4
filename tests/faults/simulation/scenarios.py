"""The runs that faults are put into: a start, a steady training, moves, a rollback, an end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.decide import DecisionInput
from controller.domain import Decision, Fleet, Verdict
from controller.domain.reasons import Said
from tests.unit.controller.harness import SETTINGS, SPEEDS, new_world
from tests.unit.controller.world import World

TOTAL_STEPS = 400
"""Enough for what goes wrong in a move to be mended before the training ends."""
MOVES_AT_STEP = 60


@dataclass(frozen=True)
class Scenario:
    """A run of the controller without any fault.

    Attributes:
        initial: The fleet that the training starts on.
        target: The fleet that it moves to once; None for a training without a move.
        phases: The phases of the world in which faults are put.
        world: Options of the world.
        ends_on: The fleet that it ends on.
    """

    name: str
    initial: Mapping[str, int]
    target: Mapping[str, int] | None
    phases: tuple[str, ...]
    ends_on: Mapping[str, int]
    world: Mapping[str, Any] = field(default_factory=dict)
    is_probe: bool = False
    """Whether the move is a probe."""
    is_on_spot: bool = False
    """Whether all nodes are bought on spot. Then EC2 takes one back in the middle."""

    def new_world(self) -> World:
        """Returns the world at the beginning."""
        on_spot = tuple(SPEEDS) if self.is_on_spot else ()
        world = new_world(total_steps=TOTAL_STEPS, on_spot=on_spot, **{**self.world, **_copies(self.world)})
        if self.is_on_spot:
            _take_one_back(world)
        return world

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the environment."""
        return {**SETTINGS, "fleet": {"initial": dict(self.initial)}}

    @property
    def decider(self) -> Callable[[DecisionInput], Decision]:
        """What decides: for the target, once."""

        def decide(given: DecisionInput) -> Decision:
            now = given.observations[-1]
            is_due = any(fact.step >= MOVES_AT_STEP for fact in now.facts)
            if self.target is None or given.history.moves or not is_due or now.fleet == Fleet(self.target):
                return Decision(now.at, "scripted", Verdict.STAY, now.fleet, now.fleet, Said("nothing to do"))
            target, why = Fleet(self.target), Said("cheaper")
            return Decision(now.at, "scripted", Verdict.MOVE, now.fleet, target, why, is_probe=self.is_probe)

        return decide

    @property
    def most(self) -> Fleet:
        """The largest fleet that may be asked for. What EC2 takes back may be replaced from any pool."""
        most = Fleet(self.initial).union(Fleet(self.target or {}))
        return most.plus(Fleet(dict.fromkeys(SPEEDS, 2 * most.size))) if self.is_on_spot else most


def _take_one_back(world: World) -> None:
    """Lets EC2 take a node back once the training is under way."""
    is_due = [True]

    def look(tick: float) -> None:
        if is_due and world.step >= MOVES_AT_STEP and world.ranks():
            is_due.pop()
            world.interrupt(world.ranks()[-1])

    world.at_each_tick.append(look)


def _copies(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: dict(value) for name, value in options.items() if isinstance(value, dict)}


MIXED = {"t2.medium": 1, "c5.large": 1, "c5.xlarge": 1}
MOVING = ("steady", "growing", "warming", "joining", "shrinking")
SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("stay", MIXED, None, ("booting", "preparing", "steady", "joining", "ending"), MIXED),
        Scenario("overlap", MIXED, {"c5.large": 3}, MOVING, {"c5.large": 3}),
        Scenario("disjoint", {"t2.medium": 2, "c5.xlarge": 1}, {"c5.large": 3}, MOVING, {"c5.large": 3}),
        Scenario("shrink", {"c5.large": 3}, {"c5.large": 2}, ("steady", "shrinking"), {"c5.large": 2}),
        Scenario("spot", {"c5.large": 3}, None, MOVING, {"c5.large": 2, "t2.medium": 1}, is_on_spot=True),
        Scenario(
            "rollback",
            MIXED,
            {"c5.large": 3},
            ("growing", "warming", "shrinking"),
            MIXED,
            {"capacity_limits": {"c5.large": 2}},
        ),
        Scenario(
            "probe",
            {"t2.medium": 3},
            {"t2.medium": 3, "c5.large": 1, "c5.xlarge": 1},
            MOVING,
            {"t2.medium": 3, "c5.large": 1},
            {"capacity_limits": {"c5.xlarge": 0}},
            is_probe=True,
        ),
    )
}


def phase_of(world: World) -> str:
    """Returns what goes on in the world, as its state says."""
    if not world.is_started:
        return "booting" if not world.nodes or not all(world.runs(node) for node in world.nodes) else "preparing"
    if world.outcome:
        return "ending"
    if world.fleet() != {flavor: count for flavor, count in world.desired.items() if count}:
        return "shrinking" if len(world.nodes) > sum(world.desired.values()) else "growing"
    if not all(world.runs(node) for node in world.nodes):
        return "growing"
    aside = [node for node in world.nodes if node.address not in world.hosts]
    if aside:
        return "warming" if all(node.launched_at > world.nodes[0].launched_at for node in aside) else "shrinking"
    return "steady" if all(node.is_rank for node in world.nodes) else "joining"
