"""What `decide` makes of a policy's decision: as much of a move as may run at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import controller.decide
from controller.decide import DecideSettings, DecisionInput, decide
from controller.decide.model.situation import Situation
from controller.decide.policies.decided import decided
from controller.domain import Decision, Fleet, Limits, Price, Verdict
from controller.domain.observed.fact import NoticeKind
from controller.domain.observed.spot import Noticed
from controller.domain.reasons import Reason, Said
from controller.domain.reasons.limits import (
    FirstOfSeveralMoves,
    FirstWithinHourlyLimit,
    HourlyLimitForbidsMove,
    SurgeForbidsMove,
)

WHY = Said("as the policy wants")
BEFORE, HALF, AFTER = Fleet({"old": 2}), Fleet({"old": 1, "new": 1}), Fleet({"old": 0, "new": 2})
HEAD = 0.25
"""Two old nodes cost $2 an hour and two new ones $1, so that $3.25 run during a move."""


class Wants:
    """A policy that wants one fleet."""

    name = "wants"

    def __init__(self, target: Fleet) -> None:
        self.target = target

    def decide(self, situation: Situation) -> Decision:
        return decided(situation, Verdict.MOVE, WHY, self.target)


def decision(training: Any, limits: Limits, target: Fleet = AFTER, before: Fleet = BEFORE) -> Decision:
    training.speeds = {"old": 1000.0, "new": 1000.0}
    training.prices = {"old": 1.0, "new": 0.5, "unknown": 0.5}
    training.fleet = before
    settings = DecideSettings(policy="wants", head_usd_per_hour=HEAD)
    return decide(
        DecisionInput(
            (training.observe(),), training.listed_prices, limits, training.progress, training.history, settings
        ),
        {"wants": Wants(target)},
    )


@pytest.mark.parametrize(
    ("limits", "target", "reason"),
    [
        (Limits(2, 2), AFTER, WHY),
        (Limits(2, 2, max_surge=2, max_usd_per_hour=3.25), AFTER, WHY),
        (Limits(2, 2, max_surge=1), HALF, FirstOfSeveralMoves(HALF, 1, WHY)),
        (Limits(2, 2, max_surge=1, max_usd_per_hour=9.0), HALF, FirstOfSeveralMoves(HALF, 1, WHY)),
        (Limits(1, 2, max_surge=0), Fleet({"old": 1}), FirstOfSeveralMoves(Fleet({"old": 1}), 0, WHY)),
        (Limits(2, 2, max_usd_per_hour=2.8), HALF, FirstWithinHourlyLimit(HALF, 2.8, 3.25, WHY)),
        (Limits(2, 2, max_surge=1, max_usd_per_hour=2.8), HALF, FirstWithinHourlyLimit(HALF, 2.8, 3.25, WHY)),
    ],
)
def test_a_move_goes_as_far_as_the_limits_of_what_may_run_allow(
    training: Any, limits: Limits, target: Fleet, reason: Reason
) -> None:
    found = decision(training, limits)
    assert (found.verdict, found.target.present, found.reason) == (Verdict.MOVE, target.present, reason)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(2, 2, max_surge=0), SurgeForbidsMove(0, WHY)),
        (Limits(2, 2, max_surge=0, max_usd_per_hour=9.0), SurgeForbidsMove(0, WHY)),
        (Limits(2, 2, max_usd_per_hour=2.5), HourlyLimitForbidsMove(2.5, 3.25, WHY)),
        (Limits(2, 2, max_surge=0, max_usd_per_hour=2.5), HourlyLimitForbidsMove(2.5, 3.25, WHY)),
    ],
)
def test_a_move_of_which_no_part_is_allowed_is_refused_with_the_limit(
    training: Any, limits: Limits, reason: Reason
) -> None:
    found = decision(training, limits)
    assert (found.verdict, found.target, found.reason) == (Verdict.REFUSE, BEFORE, reason)


def test_a_flavor_of_unknown_cost_comes_first(training: Any) -> None:
    before, target = Fleet({"old": 2, "new": 1}), Fleet({"new": 2, "unknown": 1})
    found = decision(training, Limits(3, 3, max_surge=1), target, before)
    assert found.target.present == {"old": 1, "new": 1, "unknown": 1}, "a probe does not wait for the rest"


NOTICED = (Noticed("i-1", "old", NoticeKind.REBALANCE, 900.0),)


@pytest.mark.parametrize(
    ("rates", "noticed", "is_asked"),
    [
        ((0.0, 0.0), (), True),
        ((0.0, 0.01), (), False),
        ((0.01, 0.01), (), False),
        ((0.0, 0.01), NOTICED, True),
        ((0.0, 0.0), NOTICED, True),
    ],
)
def test_the_safety_net_is_asked_where_a_pool_took_nodes_back_or_no_pool_says_how_often_it_does(
    training: Any,
    monkeypatch: pytest.MonkeyPatch,
    rates: tuple[float, float],
    noticed: tuple[Noticed, ...],
    is_asked: bool,
) -> None:
    waits = Said("for the sake of the deadline")
    monkeypatch.setattr(controller.decide, "in_time", lambda decision, situation: replace(decision, reason=waits))
    training.speeds, training.prices = {"old": 1000.0, "new": 1000.0}, {"old": 1.0, "new": 0.5}
    training.fleet = BEFORE
    prices = {
        f: Price(f, usd, interruptions_per_hour=r) for (f, usd), r in zip(training.prices.items(), rates, strict=True)
    }
    history = replace(training.history, noticed=noticed)
    settings = DecideSettings(policy="wants")
    found = decide(
        DecisionInput((training.observe(),), prices, Limits(2, 2), training.progress, history, settings),
        {"wants": Wants(AFTER)},
    )
    assert found.reason == (waits if is_asked else WHY)
