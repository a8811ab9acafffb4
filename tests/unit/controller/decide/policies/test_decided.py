"""What a decision says of its situation, and the cases in which there is nothing to decide."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decide import DecideSettings, DecisionInput
from controller.decide.model.estimates import flavor_estimates
from controller.decide.model.situation import Situation, assess
from controller.decide.policies.decided import decided, nothing_to_decide
from controller.domain import Fleet, Limits, Move, MovePhase, Verdict
from controller.domain.reasons import Said
from controller.domain.reasons.deciding import MoveUnderWay
from controller.domain.reasons.limits import MaxNodesBelowMinNodes

REASON, TARGET = Said("as the test wants"), Fleet({"c5.large": 6})


def situation(training: Any, limits: Limits | None = None, **settings: Any) -> Situation:
    made = assess(
        DecisionInput(
            (training.observe(),),
            training.listed_prices,
            limits or Limits(6, 6),
            training.progress,
            training.history,
            DecideSettings(**settings),
        )
    )
    made.__dict__["bad_nodes"] = {"c5.large": ("i-1", "i-2"), "t2.large": ("i-3",)}
    return made


def test_a_move_is_told_with_all_that_it_rests_on(training: Any) -> None:
    one = situation(training, policy="price-time")
    found = decided(one, Verdict.MOVE, REASON, TARGET, (), 3.0, 1.0, is_probe=True)
    assert (found.at, found.policy, found.verdict) == (one.now, "price-time", Verdict.MOVE)
    assert (found.current, found.target, found.reason) == (one.current, TARGET, REASON)
    assert (found.saving_usd, found.switching_usd, found.is_probe) == (3.0, 1.0, True)
    assert found.flavors == flavor_estimates(one) and found.bad_nodes == ("i-1", "i-2", "i-3")


@pytest.mark.parametrize("verdict", [Verdict.STAY, Verdict.REFUSE])
def test_without_a_move_the_target_is_the_present_fleet(training: Any, verdict: Verdict) -> None:
    one = situation(training)
    found = decided(one, verdict, REASON, TARGET)
    assert (found.verdict, found.target, found.is_probe) == (verdict, one.current, False)
    assert decided(one, Verdict.MOVE, REASON).target == one.current


def test_tables_for_people_are_left_out_where_nobody_reads_them(training: Any) -> None:
    one = situation(training, detailed=False)
    assert decided(one, Verdict.STAY, REASON).flavors == ()
    assert decided(one, Verdict.STAY, REASON).bad_nodes == ()
    assert decided(one, Verdict.MOVE, REASON).bad_nodes == ("i-1", "i-2", "i-3"), "the move ends these nodes first"
    assert decided(situation(training), Verdict.STAY, REASON).bad_nodes == ("i-1", "i-2", "i-3")


def test_where_no_fleet_is_allowed_that_is_the_decision(training: Any) -> None:
    found = nothing_to_decide(situation(training, Limits(6, 5)))
    assert found is not None
    assert (found.verdict, found.reason) == (Verdict.REFUSE, MaxNodesBelowMinNodes(5, 6))


def test_a_move_under_way_is_the_decision(training: Any) -> None:
    assert nothing_to_decide(situation(training)) is None
    training.moves = (Move(1, 0.0, Fleet({"t2.large": 6}), TARGET, Said("cheaper"), MovePhase.GROWING),)
    found = nothing_to_decide(situation(training))
    assert found is not None
    assert (found.verdict, found.reason) == (Verdict.STAY, MoveUnderWay(1, TARGET, "growing"))
