"""The seed experiment's rule, corrected."""

from __future__ import annotations

import pytest

from controller.decide import DecideSettings
from controller.domain import Fleet, Limits, Price, Verdict
from controller.domain.reasons.deciding import (
    AllOneFlavor,
    NoRoomForCheaperFlavor,
    OneNodeToCheapest,
    PricesUnknown,
    WaitingForFacts,
)
from controller.domain.reasons.flavors import NoPrice

PRICE_TIME = DecideSettings(policy="price-time")


def test_six_flavors_make_exactly_five_moves_of_one_node_each(training):
    sizes = []
    while (decision := training.decide(settings=PRICE_TIME)).verdict is Verdict.MOVE:
        changed = {f: decision.target.count(f) - training.fleet.count(f) for f in training.fleet}
        sizes.append(sorted(change for change in changed.values() if change))
        training.make(decision)
    assert sizes == [[-1, 1]] * 5
    assert training.fleet == Fleet({"c5.large": 6})
    assert decision.reason == AllOneFlavor(training.fleet)


def test_the_most_expensive_flavor_per_token_gives_a_node_to_the_cheapest(training):
    decision = training.decide(settings=PRICE_TIME)
    assert decision.target.count("c5.large") == 2
    assert decision.target.count("t2.xlarge") == 0
    per_token = {f: training.prices[f] / training.speeds[f] for f in training.fleet}
    share = 1 - per_token["c5.large"] / per_token["t2.xlarge"]
    assert decision.reason == OneNodeToCheapest("c5.large", "t2.xlarge", pytest.approx(share))


def test_it_judges_by_compute_time_and_not_by_the_time_of_the_whole_iteration(training):
    # With allreduce inside, every rank reports the same time, and the cheapest node per hour would win.
    training.communication_s = lambda size: 50.0
    assert training.decide(settings=PRICE_TIME).target.count("c5.large") == 2


def test_it_waits_while_a_flavor_has_no_facts(training):
    present = training.observe()
    facts = tuple(fact for fact in present.facts if fact.flavor != "t2.large")
    decision = training.decide(settings=PRICE_TIME, observation=type(present)(present.at, present.fleet, facts))
    assert decision.verdict is Verdict.STAY
    assert decision.reason == WaitingForFacts(("t2.large",))


def test_other_speeds_make_another_flavor_win(training):
    training.speeds = {**training.speeds, "t2.medium": 2400.0}
    while (decision := training.decide(settings=PRICE_TIME)).verdict is Verdict.MOVE:
        training.make(decision)
    assert training.fleet == Fleet({"t2.medium": 6})


def test_a_cheapest_flavor_without_room_gives_way_to_the_next(training):
    limits = Limits(6, 6, max_nodes_per_flavor={"c5.large": 1})
    assert training.decide(limits, PRICE_TIME).target.count("t2.medium") == 2


def test_a_flavor_that_runs_and_has_no_price_is_named(training):
    prices = {f: Price(f, usd) for f, usd in training.prices.items() if f != "t2.large"}
    decision = training.decide(settings=PRICE_TIME, prices=prices)
    assert decision.verdict is Verdict.REFUSE
    assert decision.reason == PricesUnknown({"t2.large": NoPrice()})


def test_flavors_that_cost_the_same_per_token_are_left_alone(training):
    training.prices = {flavor: speed / 10_000 for flavor, speed in training.speeds.items()}
    decision = training.decide(settings=PRICE_TIME)
    assert decision.verdict is Verdict.STAY
    assert isinstance(decision.reason, NoRoomForCheaperFlavor)


def test_a_flavor_that_may_not_be_used_gets_no_node(training):
    present = sorted(training.fleet)
    only = Limits(1, 6, max_nodes_per_flavor=dict.fromkeys(present, 1))
    decision = training.decide(only, PRICE_TIME)
    assert (decision.verdict, decision.reason) == (Verdict.STAY, NoRoomForCheaperFlavor("t2.xlarge"))


def test_a_fleet_of_one_flavor_stays(training):
    training.fleet = Fleet({"c5.large": 3})
    decision = training.decide(settings=PRICE_TIME)
    assert (decision.verdict, decision.reason) == (Verdict.STAY, AllOneFlavor(training.fleet))


def test_a_flavor_that_the_owner_excludes_gets_no_node(training):
    decision = training.decide(Limits(1, 6, excluded={"c5.large": "the owner says so"}), PRICE_TIME)
    assert decision.target.count("t2.medium") == 2
