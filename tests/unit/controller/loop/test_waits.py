"""Moves that have failed wait; each move is asked about once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from controller.act.backoff import LONGEST_ON_SPOT_S, LONGEST_S
from controller.domain import Decision, Fleet, Market, Move, MovePhase, Verdict
from controller.domain.reasons import Said
from controller.domain.reasons.moving import NoCapacity, WaitsAfterFailure
from controller.loop.waits import Waits
from tests.unit.controller.harness import Controller

NOW, BEST, OTHER = Fleet({"t2.medium": 2}), Fleet({"c5.large": 2}), Fleet({"c5.xlarge": 2})
FIRST_S = 100.0
MOVE = Decision(0.0, "p", Verdict.MOVE, NOW, BEST, Said("cheaper"), is_probe=True)


def waits_of(one: Controller, spot: Collection[str] = ()) -> Waits:
    return Waits(one.journal, one.clock, FIRST_S, lambda flavor: Market.SPOT if flavor in spot else Market.ON_DEMAND)


def test_a_flavor_that_could_not_be_had_holds_moves_to_more_of_it_back(controller: Callable[..., Any]) -> None:
    one = controller()
    waits, began = waits_of(one), one.world.now
    waits.remember_unavailable(["c5.large"], NoCapacity({"c5.large": "none left"}))
    reason = WaitsAfterFailure(BEST, began + FIRST_S)
    assert waits.reason(NOW, BEST) == reason
    assert waits.hold_back(MOVE) == replace(MOVE, verdict=Verdict.REFUSE, target=NOW, reason=reason, is_probe=False)
    assert waits.reason(BEST, BEST) is None, "the nodes that run may stay"
    assert waits.reason(NOW, OTHER) is None
    one.world.now += FIRST_S
    assert waits.hold_back(MOVE) == MOVE


def test_a_spot_pool_is_asked_again_within_the_hour_however_often_it_failed(controller: Callable[..., Any]) -> None:
    one = controller()
    waits = waits_of(one, spot={"c5.large"})
    for number in range(1, 12):
        one.journal.save_move(
            Move(number, one.world.now - 1, NOW, BEST, Said("cheaper"), MovePhase.ROLLED_BACK, ended_at=one.world.now)
        )
    waits.remember_unavailable(["c5.large"], NoCapacity({"c5.large": "none left"}))
    assert waits.reason(NOW, BEST) == WaitsAfterFailure(BEST, one.world.now + LONGEST_ON_SPOT_S)
    assert waits_of(one).reason(NOW, BEST) == WaitsAfterFailure(BEST, one.world.now + LONGEST_ON_SPOT_S)
    waits_of(one).remember_unavailable(["c5.large"], NoCapacity({"c5.large": "none left"}))
    assert waits.reason(NOW, BEST) == WaitsAfterFailure(BEST, one.world.now + LONGEST_S)


def test_a_fleet_waits_after_a_move_that_failed_since_the_controller_began(controller: Callable[..., Any]) -> None:
    one = controller()
    failed = Move(1, one.world.now - 10, NOW, BEST, Said("cheaper"), MovePhase.REFUSED, ended_at=one.world.now - 5)
    one.journal.save_move(failed)
    assert waits_of(one).reason(NOW, BEST) is None, "a controller that starts anew tries at once"
    waits = waits_of(one)
    one.journal.save_move(replace(failed, move_id=2, at=one.world.now, ended_at=one.world.now + 1))
    assert waits.reason(NOW, BEST) == WaitsAfterFailure(BEST, one.world.now + 1 + FIRST_S)


def test_a_decision_that_is_no_move_is_never_held_back(controller: Callable[..., Any]) -> None:
    stay = replace(MOVE, verdict=Verdict.STAY, target=NOW)
    assert waits_of(controller()).hold_back(stay) is stay


def test_each_decision_asks_once_whether_it_has_to_wait(controller: Callable[..., Any]) -> None:
    one = controller()
    waits = one.optimizer._training._waits
    asked: list[Fleet] = []
    reason = waits.reason

    def counting(current: Fleet, target: Fleet) -> WaitsAfterFailure | None:
        asked.append(target)
        found: WaitsAfterFailure | None = reason(current, target)
        return found

    waits.reason = counting
    one.optimizer.run()
    moves = [decision for decision in one.journal.decisions() if decision.verdict is Verdict.MOVE]
    assert [move.target for move in moves] == asked and asked
