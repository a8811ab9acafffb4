"""The default policy: the best fleet, reached in one move, and only where it pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide import DecideSettings, DecisionInput, Objective, UnknownPolicyError
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.risk import chance_kept
from controller.decide.model.situation import assess
from controller.decide.policies.beliefs import Measurements
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.decide.search.choice import fastest_step_s
from controller.domain import Flavor, Fleet, History, Limits, Move, MovePhase, Observation, Risk, Verdict
from controller.domain.reasons import Said
from controller.domain.reasons.deciding import (
    BestAlready,
    CheaperPerToken,
    CoolingDown,
    FewStepsLeft,
    MoveUnderWay,
    NoMeasuredFleetAllowed,
    PricesUnknown,
    SavesTooLittle,
    SpeedUnknown,
    WaitingForFacts,
    WithinUncertainty,
)
from controller.domain.reasons.flavors import NoPrice, UnavailableForNow
from controller.domain.reasons.limits import (
    BreaksLimit,
    BudgetOutOfReach,
    DeadlineOutOfReach,
    FlavorLimitsTooLow,
    HourlyLimitTooLow,
    MaxNodesBelowMinNodes,
)


def test_the_whole_fleet_moves_to_the_cheapest_flavor_in_one_move(training):
    decision = training.decide()
    assert decision.verdict is Verdict.MOVE
    assert decision.target == Fleet({"c5.large": 6})
    assert decision.saving_usd > 0 and decision.switching_usd > 0
    training.make(decision)
    assert training.decide().verdict is Verdict.STAY


def test_other_speeds_make_another_flavor_win(training):
    training.speeds = {**training.speeds, "t2.medium": 2400.0}
    assert training.decide().target == Fleet({"t2.medium": 6})


def test_an_unknown_policy_is_an_error_that_lists_those_there_are(training):
    with pytest.raises(UnknownPolicyError, match="there is no policy 'greedy'; there are: cheapest-fleet, price-time"):
        training.decide(settings=DecideSettings(policy="greedy"))


def test_with_free_size_and_communication_the_smallest_fleet_is_cheapest(training):
    training.communication_s = lambda size: 0.0 if size == 1 else 0.2
    assert training.decide(Limits(1, 6)).target == Fleet({"c5.large": 1})


def test_a_deadline_holds_against_the_smallest_fleet(training):
    # One c5.large takes 3 s a step; 199,000 steps in 60 hours need 1.09 s a step: three nodes, with 6% to spare.
    training.communication_s = lambda size: 0.0 if size == 1 else 0.02
    limits = Limits(1, 6, deadline_at=training.now + 60 * 3600)
    decision = training.decide(limits)
    assert decision.target == Fleet({"c5.large": 3})
    assert decision.fleets[1].remaining_s < 60 * 3600


def test_a_quota_makes_a_mixed_fleet_right_and_it_is_chosen(training):
    decision = training.decide(Limits(6, 6, max_nodes_per_flavor={"c5.large": 4}))
    assert decision.target == Fleet({"c5.large": 4, "t2.medium": 2})


def test_a_quota_of_vcpus_counts_as_well(training):
    flavors = {f: Flavor(f, vcpus=2) for f in training.speeds}
    limits = Limits(6, 6, max_vcpus_per_flavor={"c5.large": 9})
    assert training.decide(limits, replace(DecideSettings(), flavors=flavors)).target.count("c5.large") == 4


def test_a_deadline_that_no_fleet_keeps_is_told_and_the_fastest_is_taken(training):
    decision = training.decide(Limits(6, 6, deadline_at=training.now + 3600))
    assert decision.target == Fleet({"c5.2xlarge": 6})
    shortfall = decision.reason.shortfall
    assert isinstance(shortfall, DeadlineOutOfReach)
    assert (shortfall.fastest, shortfall.left_s) == (decision.target, 3600)
    assert shortfall.needed_s > 3600


def test_a_deadline_that_has_passed_is_told_as_such(training):
    decision = training.decide(Limits(6, 6, deadline_at=training.now - 60))
    assert decision.target == Fleet({"c5.2xlarge": 6})
    shortfall = decision.reason.shortfall
    assert isinstance(shortfall, DeadlineOutOfReach)
    assert (shortfall.fastest, shortfall.left_s) == (decision.target, -60)


def test_what_steps_take_beyond_the_model_is_in_the_number_that_is_told(training):
    stay_s = training.decide().fleets[0].remaining_s
    uncounted = DecideSettings(count_communication=False)
    slow = training.observe(iteration_time_s=3 * stay_s / training.progress.remaining_steps)
    decision = training.decide(Limits(6, 6, deadline_at=training.now + stay_s), uncounted, slow)
    shortfall = decision.reason.shortfall
    assert isinstance(shortfall, DeadlineOutOfReach)
    assert shortfall.fastest == Fleet({"c5.2xlarge": 6})
    assert shortfall.needed_s > stay_s


def test_shares_that_are_still_being_adapted_make_no_deadline_look_missed(training):
    """Before batches are balanced, equal shares make every step as slow as the slowest node."""
    present = training.observe()
    share = training.tokens_per_step / training.fleet.size
    slowest_s = share / min(training.speeds.values())
    equal = [
        replace(f, tokens=share, compute_time_s=share / training.speeds[f.flavor], iteration_time_s=slowest_s)
        for f in present.facts
    ]
    settings = DecideSettings(count_communication=False)
    stay_s = training.decide(settings=settings).fleets[0].remaining_s
    limits = Limits(6, 6, deadline_at=training.now + 1.4 * stay_s)
    assert slowest_s * training.progress.remaining_steps > 2 * stay_s
    decision = training.decide(limits, settings, replace(present, facts=tuple(equal)))
    assert decision.target == training.decide(limits, settings).target
    assert isinstance(decision.reason, CheaperPerToken)
    assert decision.reason.shortfall is None


def test_a_budget_that_no_fleet_keeps_is_told(training):
    decision = training.decide(Limits(6, 6, budget_usd=1.0))
    shortfall = decision.reason.shortfall
    assert isinstance(shortfall, BudgetOutOfReach)
    assert (shortfall.cheapest, shortfall.left_usd) == (Fleet({"c5.large": 6}), 1.0)
    assert shortfall.needed_usd > 1.0


def test_least_time_takes_the_fastest_fleet_that_the_budget_allows(training):
    settings = DecideSettings(objective=Objective.TIME)
    rich = training.decide(Limits(1, 6), settings)
    poor = training.decide(Limits(1, 6, budget_usd=20.0), settings)
    assert rich.target == Fleet({"c5.2xlarge": 6})
    assert poor.verdict is Verdict.MOVE
    assert poor.fleets[1].remaining_usd <= 20.0
    assert poor.fleets[1].remaining_s > rich.fleets[1].remaining_s


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(6, 5), MaxNodesBelowMinNodes(5, 6)),
        (Limits(6, 6, max_nodes_per_flavor=dict.fromkeys(("c5.large", "c5.xlarge"), 1)), None),
        (Limits(6, 6, max_usd_per_hour=0.2), HourlyLimitTooLow(0.2, 6, pytest.approx(6 * 0.0464))),
        (Limits(6, 6, excluded=dict.fromkeys(("t2.medium", "t2.large", "t2.xlarge"), "slow")), None),
        (
            Limits(
                6,
                6,
                max_nodes_per_flavor={"c5.large": 1, "c5.xlarge": 1, "c5.2xlarge": 1},
                excluded=dict.fromkeys(("t2.medium", "t2.large", "t2.xlarge"), "slow"),
            ),
            FlavorLimitsTooLow(6, 3, {"c5.2xlarge": 1, "c5.large": 1, "c5.xlarge": 1}),
        ),
    ],
)
def test_limits_that_admit_no_fleet_say_which_limit_binds(training, limits, reason):
    decision = training.decide(limits)
    if reason is None:
        assert decision.verdict is Verdict.MOVE
    else:
        assert decision.verdict is Verdict.REFUSE
        assert decision.reason == reason


def test_a_fleet_that_breaks_a_limit_moves_even_where_that_costs_more(training):
    training.fleet = Fleet({"c5.large": 6})
    training.observations = (replace(at_an_earlier_time(training), fleet=Fleet({"c5.xlarge": 6})).observe(),)
    limits = Limits(6, 6, excluded={"c5.large": "the owner says so"})
    decision = training.decide(limits, DecideSettings(probe_share=0.0))
    assert decision.verdict is Verdict.MOVE
    assert decision.target == Fleet({"c5.xlarge": 6})
    assert isinstance(decision.reason, BreaksLimit)


def at_an_earlier_time(training):
    """A copy that can be given another fleet, at an earlier time."""
    return replace(training, now=training.now - 500, observations=())


def test_a_saving_that_is_smaller_than_switching_is_refused_with_both_figures(training):
    training.step = 193_000
    decision = training.decide(settings=replace(DecideSettings(), saving_margin=0.5))
    assert decision.verdict is Verdict.REFUSE
    reason = decision.reason
    assert isinstance(reason, SavesTooLittle)
    assert 0 < reason.saving_usd < reason.needed_usd
    assert reason.switching_usd > 0


def test_near_the_end_nothing_moves(training):
    training.step = training.total_steps - 50
    decision = training.decide()
    assert decision.verdict is Verdict.STAY
    assert decision.reason == FewStepsLeft(50 / training.total_steps, 0.03)


def test_intervals_that_overlap_are_a_reason_to_stay(training):
    training.speeds = {"a": 1000.0, "b": 1030.0}
    training.prices = {"a": 0.1, "b": 0.1}
    training.fleet = Fleet({"a": 5, "b": 1})
    decision = training.decide()
    assert decision.verdict is Verdict.REFUSE
    assert isinstance(decision.reason, WithinUncertainty)
    assert 0 < decision.reason.gain_share < decision.reason.uncertainty_share


def test_the_best_fleet_stays_and_is_named(training):
    training.make(training.decide())
    decision = training.decide()
    assert (decision.verdict, decision.reason) == (Verdict.STAY, BestAlready(Fleet({"c5.large": 6})))
    assert decision.switching_usd is None and decision.saving_usd == 0.0
    assert decision.scaling, "how it would scale is shown"


def test_without_a_batch_or_any_speed_it_is_waited_for(training):
    decision = training.decide(observation=replace(training.observe(), facts=()))
    assert (decision.verdict, decision.at) == (Verdict.STAY, training.now)
    assert decision.reason == WaitingForFacts(tuple(sorted(training.fleet)))


def test_a_fleet_of_unknown_price_is_not_compared(training):
    prices = {flavor: price for flavor, price in training.listed_prices.items() if flavor != "t2.large"}
    decision = training.decide(prices=prices)
    assert decision.reason == PricesUnknown({"t2.large": NoPrice()})
    assert (decision.verdict, decision.target) == (Verdict.REFUSE, training.fleet)


def test_a_decision_and_its_reason_tell_the_same_saving(training):
    decision = training.decide()
    assert isinstance(decision.reason, CheaperPerToken)
    assert decision.saving_usd == decision.reason.saving_usd
    assert decision.switching_usd == decision.reason.switching_usd
    assert decision.scaling


def test_while_the_batch_is_unknown_it_is_waited_for(training):
    class Unknown(Measurements):
        def model(self, situation):
            return None

    given = DecisionInput(
        (training.observe(),), training.listed_prices, Limits(6, 6), training.progress, settings=DecideSettings()
    )
    decision = CheapestFleet(beliefs=Unknown()).decide(assess(given))
    assert (decision.verdict, decision.reason) == (Verdict.STAY, WaitingForFacts())
    assert (decision.at, decision.target) == (training.now, training.fleet)


def test_where_no_flavor_that_is_allowed_was_measured_nothing_is_chosen(training):
    training.prices = {**training.prices, "m5.large": 0.1}
    limits = Limits(6, 6, excluded=dict.fromkeys(training.fleet, "too noisy"))
    decision = training.decide(limits)
    assert (decision.verdict, decision.reason) == (Verdict.REFUSE, NoMeasuredFleetAllowed())
    assert (decision.at, decision.target) == (training.now, training.fleet)


def test_a_fleet_of_unknown_speed_is_not_compared(training):
    class Slow(Measurements):
        def waiting(self, situation):
            return None

        def model(self, situation):
            return situation.model({f: s for f, s in situation.measured.items() if f != "t2.large"})

    given = DecisionInput(
        (training.observe(),), training.listed_prices, Limits(6, 6), training.progress, settings=DecideSettings()
    )
    decision = CheapestFleet(beliefs=Slow()).decide(assess(given))
    assert (decision.verdict, decision.reason) == (Verdict.REFUSE, SpeedUnknown())


def test_the_cool_down_is_waited_for(training):
    training.moves = (Move(1, 900.0, training.fleet, training.fleet, Said(""), MovePhase.DONE, ended_at=990.0),)
    decision = training.decide()
    assert decision.verdict is Verdict.STAY
    assert decision.reason == CoolingDown(1, 290.0)


def probed(training, source, target):
    """The training, where the last move was a probe that ended 100 s ago and was measured well."""
    ended_at = training.now - 100.0
    measure = Move(1, 500.0, source, target, Said("measure"), MovePhase.DONE, ended_at=ended_at, is_probe=True)
    training.moves, training.window = (measure,), 40
    return training


def test_the_way_back_to_the_fleet_before_a_probe_waits_for_the_cool_down(training):
    best = Fleet({"c5.large": 6})
    assert training.decide().target == best
    decision = probed(training, best, training.fleet).decide()
    assert (decision.verdict, decision.reason) == (Verdict.STAY, CoolingDown(1, 200.0))
    assert (decision.at, decision.target) == (training.now, training.fleet)


def test_a_fleet_that_stays_is_not_on_its_way_back(training):
    """Somebody has put the fleet back by hand since the probe."""
    settings = DecideSettings(saving_margin=0.99, probe_share=0.0)
    decision = probed(training, training.fleet, training.fleet.with_count("c5.large", 2)).decide(settings=settings)
    assert (decision.verdict, type(decision.reason)) == (Verdict.REFUSE, SavesTooLittle)


def test_a_move_under_way_is_not_disturbed(training):
    training.moves = (Move(1, 900.0, training.fleet, Fleet({"c5.large": 6}), Said(""), MovePhase.JOINING),)
    assert training.decide().reason == MoveUnderWay(1, Fleet({"c5.large": 6}), "joining")


def test_a_flavor_that_could_not_be_had_is_left_alone_for_a_while(training):
    history = History(unavailable={"c5.large": training.now + 600})
    decision = training.decide(history=history)
    assert decision.target.count("c5.large") <= 1
    notes = {flavor.flavor: flavor.notes for flavor in decision.flavors}["c5.large"]
    assert UnavailableForNow(600.0) in notes


def test_a_bad_node_is_named_and_not_taken_for_a_bad_flavor(training):
    training.fleet = Fleet({"c5.large": 6})
    present = training.observe()
    slow = replace(present.facts[0], tokens=present.facts[0].tokens / 2)
    for _ in range(3):
        training.wait()
    decision = training.decide(
        observation=Observation(
            training.now,
            present.fleet,
            tuple(replace(fact, step=training.step, updated_at=training.now) for fact in (slow, *present.facts[1:])),
        ),
        history=History(),
        earlier=(),
    )
    assert decision.bad_nodes == (slow.instance_id,)
    speed = {flavor.flavor: flavor.tokens_per_s for flavor in decision.flavors}["c5.large"]
    assert speed == pytest.approx(2000.0)


def test_the_heads_price_counts(training):
    # An expensive head makes fast fleets worth more: it is paid for as long as the work lasts.
    decision = training.decide(settings=DecideSettings(head_usd_per_hour=50.0))
    assert decision.target == Fleet({"c5.2xlarge": 6})


def test_the_risk_of_a_move_is_that_the_present_fleet_or_a_runner_up_is_better(training):
    decision = training.decide()
    others = {estimate.fleet for estimate in decision.fleets} - {decision.target}
    assert training.fleet in others and decision.risk.rival in others
    assert 0.0 <= decision.risk.chance_wrong < 0.5
    assert training.decide(settings=DecideSettings(detailed=False)).risk is None


def two_flavors(training, speed):
    """The training with 5 x a and 1 x b at one price, where a makes 1,000 tokens a second and b this many."""
    training.speeds, training.prices = {"a": 1000.0, "b": speed}, {"a": 0.1, "b": 0.1}
    training.fleet = Fleet({"a": 5, "b": 1})
    return training


@pytest.mark.parametrize(
    ("speed", "verdict", "rival"),
    [(1300.0, Verdict.MOVE, Fleet({"a": 5, "b": 1})), (1030.0, Verdict.REFUSE, Fleet({"b": 6}))],
)
def test_the_rival_is_the_fleet_that_is_left_or_the_one_that_is_not_moved_to(training, speed, verdict, rival):
    """A fleet of `a` alone is not allowed."""
    decision = two_flavors(training, speed).decide(Limits(6, 6, max_nodes_per_flavor={"a": 5}))
    assert (decision.verdict, decision.risk.rival) == (verdict, rival)


def test_a_fleet_that_breaks_a_limit_is_no_rival_however_good_it_is(training):
    decision = two_flavors(training, 1300.0).decide(Limits(6, 6, max_nodes_per_flavor={"b": 0}))
    assert (decision.verdict, decision.target) == (Verdict.MOVE, Fleet({"a": 6}))
    assert decision.risk == Risk()


def test_the_chance_to_keep_a_deadline_counts_that_a_faster_fleet_could_make_up_for_a_delay(training):
    limits, settings = Limits(1, 6, deadline_at=training.now + 60 * 3600), DecideSettings(probe_share=0.0)
    given = DecisionInput((training.observe(),), training.listed_prices, limits, training.progress, settings=settings)
    situation = assess(given)
    forecaster = Forecaster.of(situation, situation.model(), situation.bounds)
    decision = CheapestFleet().decide(situation)
    then = forecaster.forecast(decision.target)
    assert decision.target == Fleet({"c5.large": 3})
    assert decision.risk.chance_kept == chance_kept(forecaster, then, fastest_step_s(forecaster))
    assert decision.risk.chance_kept > chance_kept(forecaster, then)
