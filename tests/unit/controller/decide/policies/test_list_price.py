"""The policies of autoscalers: as many nodes as run now, of what is cheapest on the price list."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decide import DecideSettings
from controller.decide.policies.list_price import ListPrice
from controller.domain import Decision, Flavor, Fleet, Limits, Verdict
from controller.domain.reasons.deciding import CheapestByList, TooFewListed
from controller.domain.reasons.limits import MaxNodesBelowMinNodes

VCPUS = {"small": 2, "medium": 4, "large": 8}
PRICES = {"small": 0.25, "medium": 0.375, "large": 1.25}


def decision(training: Any, policy: str, fleet: dict[str, int], limits: Limits | None = None, **vcpus: Any) -> Decision:
    training.prices, training.speeds = dict(PRICES), dict.fromkeys(PRICES, 1000.0)
    training.fleet = Fleet(fleet)
    flavors = {name: Flavor(name, vcpus=number) for name, number in {**VCPUS, **vcpus}.items()}
    found: Decision = training.decide(limits or Limits(1), DecideSettings(policy=policy, flavors=flavors))
    return found


@pytest.mark.parametrize(
    ("policy", "cheapest", "measure"),
    [("hourly-price", "small", "price per hour"), ("vcpu-price", "medium", "price per vCPU")],
)
def test_the_whole_fleet_is_replaced_by_the_cheapest(training: Any, policy: str, cheapest: str, measure: str) -> None:
    target = Fleet({"small": 0, "medium": 0, "large": 0} | {cheapest: 3})
    found = decision(training, policy, {"large": 3})
    assert (found.verdict, found.policy) == (Verdict.MOVE, policy)
    assert found.target == target and found.reason == CheapestByList(found.target, measure)


def test_the_cheapest_fleet_stays(training: Any) -> None:
    found = decision(training, "hourly-price", {"small": 2})
    assert (found.verdict, found.target) == (Verdict.STAY, Fleet({"small": 2}))
    assert found.reason == CheapestByList(Fleet({"small": 2}), "price per hour")


@pytest.mark.parametrize(
    ("fleet", "limits", "target"),
    [
        ({"large": 1}, Limits(1), {"small": 1}),
        ({"large": 2}, Limits(3), {"small": 3}),
        ({"large": 4}, Limits(1, 3), {"small": 3}),
        (
            {"large": 4},
            Limits(1, max_nodes_per_flavor={"small": 1, "medium": 2}),
            {"small": 1, "medium": 2, "large": 1},
        ),
        ({"large": 2}, Limits(1, max_nodes_per_flavor={"small": 1, "medium": 2}), {"small": 1, "medium": 1}),
    ],
)
def test_as_many_nodes_as_run_now_within_the_limits(
    training: Any, fleet: dict[str, int], limits: Limits, target: dict[str, int]
) -> None:
    assert decision(training, "hourly-price", fleet, limits).target.present == target


def test_flavors_of_unknown_size_are_left_out(training: Any) -> None:
    found = decision(training, "vcpu-price", {"large": 3}, medium=None)
    assert found.target.present == {"small": 3}


def test_too_few_flavors_of_known_size_are_refused(training: Any) -> None:
    limits = Limits(2, max_nodes_per_flavor={"large": 1})
    found = decision(training, "vcpu-price", {"medium": 2}, limits, small=None, medium=None)
    assert (found.verdict, found.reason) == (Verdict.REFUSE, TooFewListed("price per vCPU"))
    assert found.target == Fleet({"medium": 2})


def test_as_few_flavors_as_the_limits_ask_for_are_enough(training: Any) -> None:
    limits = Limits(1, max_nodes_per_flavor={"large": 1})
    found = decision(training, "vcpu-price", {"medium": 2}, limits, small=None, medium=None)
    assert (found.verdict, found.target.present) == (Verdict.MOVE, {"large": 1})


def test_limits_that_leave_no_fleet_are_told(training: Any) -> None:
    assert decision(training, "hourly-price", {"large": 3}, Limits(3, 2)).reason == MaxNodesBelowMinNodes(2, 3)


def test_where_nothing_runs_one_node_is_wanted(training: Any) -> None:
    assert decision(training, "hourly-price", {}, Limits(0)).target.present == {"small": 1}


def test_a_policy_has_the_name_that_it_is_given() -> None:
    assert ListPrice("any", "price of anything", lambda situation, flavor: None).name == "any"
