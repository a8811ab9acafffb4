"""A lease that may have run out for a while: nothing is changed meanwhile, and the run goes on as before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.domain import MovePhase
from controller.domain.errors import LeaseUncertainError
from tests.unit.controller.harness import Controller
from tests.unit.controller.world import World

Start = Callable[..., Controller]


def uncertain(count: int) -> list[Exception]:
    return [LeaseUncertainError("The lease of the cluster test could not be renewed in time.") for _ in range(count)]


@pytest.mark.parametrize("call", ["site.yml", "hosts.yml"])
def test_a_start_waits_until_the_lease_is_sure(world: World, controller: Start, call: str) -> None:
    world.failures[call] = uncertain(6)  # type: ignore[assignment]
    assert controller().optimizer.run()["status"] == "finished"
    assert not world.failures[call]


@pytest.mark.parametrize("call", ["apply", "site.yml", "hosts.yml", "protection"])
def test_a_move_waits_and_is_not_undone(world: World, controller: Start, call: str) -> None:
    world.total_steps = 3000
    one, original = controller(), world.call
    spoiled: list[str] = []

    def spoil(name: str, effect: object, seconds: float = 0.0) -> object:
        if one.journal.move_under_way() is not None and not spoiled:
            spoiled.append(name)
            world.failures[call] = uncertain(4)  # type: ignore[assignment]
        return original(name, effect, seconds)  # type: ignore[arg-type]

    world.call = spoil  # type: ignore[method-assign, assignment]
    assert one.optimizer.run()["status"] == "finished"
    moves = one.journal.moves()
    assert spoiled and moves and moves[0].phase is MovePhase.DONE and not world.failures.get(call)
