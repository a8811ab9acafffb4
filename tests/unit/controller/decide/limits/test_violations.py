"""Which limit a fleet breaks, and which limit leaves no fleet: a limit that is just met is kept."""

from __future__ import annotations

import pytest

from controller.decide.limits.bounds import SLACK, Bounds
from controller.decide.limits.violations import infeasible_reason, violation
from controller.domain import Fleet
from controller.domain.reasons import Reason
from controller.domain.reasons.limits import (
    FlavorLimitsTooLow,
    HourlyLimitTooLow,
    MaxNodesBelowMinNodes,
    NoUsableFlavor,
    TooExpensiveAnHour,
    TooFewNodes,
    TooManyNodes,
    TooManyNodesOfFlavor,
)

USD_PER_HOUR = {"cheap": 0.25, "expensive": 1.0}
HEAD_USD_PER_HOUR = 0.5
CAPS = {"cheap": 3, "expensive": 2}


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        (Bounds(CAPS), None),
        (Bounds(CAPS, 5, 5), None),
        (Bounds(CAPS, 4, 3), MaxNodesBelowMinNodes(3, 4)),
        (Bounds(CAPS, 0, 0), MaxNodesBelowMinNodes(0, 1)),
        (Bounds({}), NoUsableFlavor()),
        (Bounds({"cheap": 0}), NoUsableFlavor()),
        (Bounds(CAPS, 6), FlavorLimitsTooLow(6, 5, CAPS)),
        (Bounds({"cheap": 1, "expensive": 0}, 2), FlavorLimitsTooLow(2, 1, {"cheap": 1})),
        (Bounds(CAPS, max_usd_per_hour=0.75), None),
        (Bounds(CAPS, max_usd_per_hour=0.7), HourlyLimitTooLow(0.7, 1, 0.75)),
        (Bounds(CAPS, 4, max_usd_per_hour=2.25), None),
        (Bounds(CAPS, 4, max_usd_per_hour=2.2), HourlyLimitTooLow(2.2, 4, 2.25)),
        (Bounds(CAPS, 0, max_usd_per_hour=0.5), HourlyLimitTooLow(0.5, 1, 0.75)),
    ],
)
def test_the_limit_that_leaves_no_fleet_is_named(bounds: Bounds, reason: Reason | None) -> None:
    assert infeasible_reason(bounds, USD_PER_HOUR, HEAD_USD_PER_HOUR) == reason


@pytest.mark.parametrize(
    ("fleet", "bounds", "reason"),
    [
        ({"cheap": 3, "expensive": 2}, Bounds(CAPS, 5, 5), None),
        ({"cheap": 1}, Bounds(CAPS, 2), TooFewNodes(1, 2)),
        ({"cheap": 0}, Bounds(CAPS, 0), TooFewNodes(0, 0)),
        ({"cheap": 3, "expensive": 1}, Bounds(CAPS, 1, 3), TooManyNodes(4, 3)),
        ({"cheap": 1, "expensive": 3}, Bounds(CAPS), TooManyNodesOfFlavor("expensive", 3, 2)),
        ({"cheap": 1, "new": 1}, Bounds(CAPS), TooManyNodesOfFlavor("new", 1, 0)),
        ({"cheap": 1, "new": 0}, Bounds(CAPS), None),
        ({"cheap": 2, "expensive": 1}, Bounds(CAPS, max_usd_per_hour=2.0), None),
        ({"cheap": 2, "expensive": 1}, Bounds(CAPS, max_usd_per_hour=1.9), TooExpensiveAnHour(2.0, 1.9)),
    ],
)
def test_the_limit_that_a_fleet_breaks_is_named(fleet: dict[str, int], bounds: Bounds, reason: Reason | None) -> None:
    assert violation(Fleet(fleet), bounds, USD_PER_HOUR, HEAD_USD_PER_HOUR) == reason


def test_rounding_breaks_no_hourly_limit() -> None:
    bounds = Bounds({"one": 1}, max_usd_per_hour=1.0)
    assert violation(Fleet({"one": 1}), bounds, {"one": 1.0 * (1 + SLACK)}, 0.0) is None
    assert infeasible_reason(bounds, {"one": 1.0 * (1 + SLACK)}, 0.0) is None
    assert violation(Fleet({"one": 1}), bounds, {"one": 1.0 + 2 * SLACK}, 0.0) is not None
    assert infeasible_reason(bounds, {"one": 1.0 + 2 * SLACK}, 0.0) is not None


def test_a_fleet_that_cannot_be_priced_does_not_break_the_hourly_limit() -> None:
    bounds = Bounds({"cheap": 3, "new": 1}, max_usd_per_hour=0.1)
    assert violation(Fleet({"cheap": 1, "new": 1}), bounds, USD_PER_HOUR, HEAD_USD_PER_HOUR) is None
    assert violation(Fleet({"cheap": 1, "new": 0}), bounds, USD_PER_HOUR, 0.0) == TooExpensiveAnHour(0.25, 0.1)
