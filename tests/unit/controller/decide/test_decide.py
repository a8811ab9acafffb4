"""What `decide` makes of a policy's decision: as much of a move as may run at once."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decide import DecideSettings, DecisionInput, decide
from controller.decide.model.situation import Situation
from controller.decide.policies.decided import decided
from controller.domain import Decision, Fleet, Limits, Verdict
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
