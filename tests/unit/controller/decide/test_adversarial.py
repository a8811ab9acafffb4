"""What must not upset deciding."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from controller.decide import DecideSettings, DecisionInput, Truth, decide
from controller.domain import (
    Flavor,
    Fleet,
    History,
    Limits,
    Move,
    MovePhase,
    Observation,
    Price,
    Progress,
    TrainingState,
    UnknownNode,
    Verdict,
)
from controller.domain.reasons import Said
from controller.domain.reasons.deciding import NoWorkerRuns, PricesUnknown, ProgressUnknown, WaitingForFacts
from controller.domain.reasons.flavors import NoPrice, PriceNotPositive, PriceStale, PriceTooHigh
from controller.domain.reasons.nodes import FactMissing
from controller.simulate.policies import SIMULATED_POLICIES

EACH = [name for name in SIMULATED_POLICIES if not name.endswith("oracle")]


@pytest.mark.parametrize("policy", EACH)
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 0.0, None])
@pytest.mark.parametrize("field", ["compute_time_s", "iteration_time_s", "tokens"])
def test_broken_numbers_in_facts_never_make_a_move_by_measured_speed(training, policy, value, field):
    decision = training.decide(settings=DecideSettings(policy=policy), observation=training.observe(**{field: value}))
    if policy in ("cheapest-fleet", "price-time") and field != "iteration_time_s":
        assert decision.verdict is Verdict.STAY
        assert isinstance(decision.reason, WaitingForFacts)


@pytest.mark.parametrize(
    "changes",
    [
        {"updated_at": 1e12},
        {"window": 0},
        {"window": 3},
        {"state": TrainingState.STARTING},
        {"state": TrainingState.FAILED},
    ],
)
def test_facts_from_the_future_or_of_no_use_are_left_out(training, changes):
    decision = training.decide(observation=training.observe(**changes))
    assert decision.verdict is Verdict.STAY
    assert all(flavor.tokens_per_s is None for flavor in decision.flavors)


def test_one_nan_among_good_facts_changes_nothing(training):
    training.wait()
    present = training.observe()
    broken = replace(present.facts[0], compute_time_s=math.nan)
    decision = training.decide(observation=replace(present, facts=(broken, *present.facts[1:])))
    assert decision.target == Fleet({"c5.large": 6})


def test_all_flavors_equal_means_stay(training):
    training.speeds = dict.fromkeys(training.speeds, 1000.0)
    training.prices = dict.fromkeys(training.prices, 0.1)
    assert training.decide().verdict is Verdict.STAY


@pytest.mark.parametrize("policy", EACH)
def test_one_flavor_only_has_nowhere_to_go(training, policy):
    training.speeds, training.prices = {"c5.large": 2000.0}, {"c5.large": 0.085}
    training.fleet = Fleet({"c5.large": 6})
    decision = training.decide(settings=DecideSettings(policy=policy))
    assert decision.verdict is not Verdict.MOVE or policy == "bayesian"
    assert decision.target.size == 6


@pytest.mark.parametrize("policy", EACH)
def test_a_fleet_of_zero_is_survived(training, policy):
    training.fleet = Fleet({})
    decision = training.decide(settings=DecideSettings(policy=policy))
    if policy == "cheapest-fleet":
        assert decision.verdict is Verdict.STAY
        assert decision.reason == NoWorkerRuns()


def test_prices_that_jump_each_minute_make_no_move_within_the_cool_down(training):
    training.fleet = Fleet({"c5.large": 3, "c5.xlarge": 3})
    moves = 0
    for minute in range(30):
        factor = 3.0 if minute % 2 else 1.0
        prices = {f: Price(f, usd * (factor if f == "c5.large" else 1.0)) for f, usd in training.prices.items()}
        decision = training.decide(prices=prices)
        if decision.verdict is Verdict.MOVE:
            moves += 1
            done = Move(
                moves, training.now, training.fleet, decision.target, Said(""), MovePhase.DONE, ended_at=training.now
            )
            training.moves, training.fleet = (*training.moves, done), decision.target
        training.wait(steps=60, seconds=60.0)
    gaps = [later.at - earlier.at for earlier, later in zip(training.moves, training.moves[1:], strict=False)]
    assert 1 <= moves <= 7
    assert all(gap >= DecideSettings().cooldown_s for gap in gaps)


UNTRUSTED_PRICES = [
    (Price("c5.large", math.nan), PriceNotPositive("nan")),
    (Price("c5.large", -0.1), PriceNotPositive("-0.1")),
    (Price("c5.large", 1e6), PriceTooHigh(1e6, 500.0)),
    (Price("c5.large", 0.085, fetched_at=-1e6), PriceStale(pytest.approx(1e6, rel=0.01), 86_400.0)),
    (None, NoPrice()),
]


@pytest.mark.parametrize(("price", "fault"), UNTRUSTED_PRICES)
def test_a_price_that_cannot_be_trusted_excludes_its_flavor_with_the_reason(training, price, fault):
    training.wait()
    training.fleet = training.fleet.with_count("c5.large", 0).with_count("t2.medium", 2)
    decision = decide_with_price_of_c5_large(training, price)
    notes = {flavor.flavor: flavor.notes for flavor in decision.flavors}["c5.large"]
    assert fault in notes
    assert not decision.target.count("c5.large")


@pytest.mark.parametrize("policy", ["cheapest-fleet", "price-time"])
@pytest.mark.parametrize(("price", "fault"), UNTRUSTED_PRICES)
def test_nothing_is_moved_away_from_a_flavor_only_because_its_price_is_missing(training, price, fault, policy):
    decision = decide_with_price_of_c5_large(training, price, policy)
    assert decision.verdict is Verdict.REFUSE
    assert decision.reason == PricesUnknown({"c5.large": fault})


def test_an_excluded_flavor_ends_with_or_without_a_price(training):
    decision = decide_with_price_of_c5_large(training, None, limits=Limits(6, 6, excluded={"c5.large": "as told"}))
    assert decision.verdict is Verdict.MOVE
    assert not decision.target.count("c5.large")


def decide_with_price_of_c5_large(training, price, policy="cheapest-fleet", limits=None):
    prices = {f: Price(f, usd) for f, usd in training.prices.items() if f != "c5.large"}
    if price is not None:
        prices["c5.large"] = price
    flavors = {name: Flavor(name) for name in training.speeds}
    settings = DecideSettings(policy=policy, price_max_age_s=86_400.0, flavors=flavors)
    return training.decide(limits=limits, settings=settings, prices=prices)


def test_a_flavor_that_never_boots_is_not_tried_again_and_again(training):
    history = History(unavailable={"c5.large": training.now + 3600})
    training.fleet = training.fleet.with_count("c5.large", 0).with_count("t2.medium", 2)
    assert not training.decide(history=history).target.count("c5.large")


def test_nodes_that_never_report_are_waited_for_and_then_replaced(training):
    present = training.observe()
    silent = tuple(fact for fact in present.facts if fact.flavor != "t2.xlarge")
    unknown = (UnknownNode("i-t2.xlarge-0", "t2.xlarge", FactMissing()),)
    observation = Observation(present.at, present.fleet, silent, unknown)
    assert training.decide(observation=observation).reason == WaitingForFacts(("t2.xlarge",))
    later = replace(
        observation,
        at=present.at + 5000,
        facts=tuple(replace(fact, updated_at=present.at + 5000, step=fact.step + 9000) for fact in silent),
    )
    decision = decide(DecisionInput((observation, later), training.listed_prices, Limits(6, 6), training.progress))
    assert decision.verdict is Verdict.MOVE
    assert decision.target == Fleet({"c5.large": 6})


def test_unknown_progress_is_a_reason_to_stay(training):
    decision = decide(DecisionInput((training.observe(),), training.listed_prices, Limits(6, 6), progress=None))
    assert decision.verdict is Verdict.STAY
    assert decision.reason == ProgressUnknown()


def test_a_finished_training_stays(training):
    training.step = training.total_steps
    assert training.decide().verdict is Verdict.STAY


def test_without_an_observation_there_is_nothing_to_decide_on():
    with pytest.raises(ValueError, match="at least one observation"):
        decide(DecisionInput((), {}, Limits(), Progress(0, 1, 0, 0.0, 0.0)))


def test_the_oracle_asks_for_the_truth(training):
    with pytest.raises(ValueError, match="needs the truth"):
        training.decide(settings=DecideSettings(policy="oracle"))
    truth = Truth(training.speeds, lambda size: 0.0, training.tokens_per_step)
    decision = training.decide(settings=DecideSettings(policy="oracle", truth=truth))
    assert decision.target == Fleet({"c5.large": 6})
