"""The simulated world keeps its books, and policies fare in it as they should."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console

from controller.decide.model.communication import Communication
from controller.domain import Fleet, Move, MovePhase
from controller.domain.move import MovePart
from controller.domain.reasons import Said
from controller.simulate.compare import compare, summary
from controller.simulate.moves import Moves
from controller.simulate.plot import plot
from controller.simulate.random_scenarios import random_scenario, vcpus_of
from controller.simulate.run import flip_flops, simulate
from controller.simulate.scenario import PriceChange, Scenario, ScenarioError, SimulatedFlavor, load_scenario
from controller.simulate.tables import summary_table
from controller.simulate.view import observation_of
from controller.simulate.world import World

SLOW = SimulatedFlavor("a.large", 0.10, 1000.0, vcpus=2)
FAST = SimulatedFlavor("b.large", 0.12, 3000.0, vcpus=2)


def scenario(**changes) -> Scenario:
    """Four slow nodes, ten hours of work at their pace, and a flavor that would do it for less than half the money."""
    plain = Scenario(
        name="plain",
        seed=3,
        flavors=(SLOW, FAST),
        initial=Fleet({"a.large": 4}),
        total_steps=36_000,
        tokens_per_step=4000.0,
        min_nodes=4,
        max_nodes=4,
        node_cv=0.0,
        bad_node_share=0.0,
    )
    return replace(plain, **changes)


def test_money_and_time_add_up_when_nothing_happens():
    world = World(scenario())
    world.run_until(5 * 3600.0)
    assert world.step == pytest.approx(18_000)
    assert world.spent_usd == pytest.approx(5 * 0.40)
    world.run_until(1e9)
    assert world.is_finished
    assert world.now == pytest.approx(36_000.0)
    assert world.spent_usd == pytest.approx(4.0)


def test_a_price_change_counts_from_its_moment():
    world = World(scenario(price_changes=(PriceChange(18_000.0, "a.large", 0.20),)))
    world.run_until(1e9)
    assert world.spent_usd == pytest.approx(2.0 + 4.0)


def test_spent_credits_slow_a_node_down():
    burstable = replace(SLOW, baseline_share=0.5, credits_s=3600.0)
    world = World(scenario(flavors=(burstable, FAST)))
    world.run_until(1e9)
    assert world.now == pytest.approx(3600.0 + 2 * (36_000.0 - 3600.0))


def test_a_move_pauses_twice_pays_for_both_fleets_and_ends_homogeneous():
    world = World(scenario())
    moves = Moves(world)
    moves.begin(Fleet({"b.large": 4}), Said(""), False, ())
    assert moves.is_under_way
    world.run_until(2000.0)
    assert not moves.is_under_way
    assert moves.history[-1].phase is MovePhase.DONE
    assert observation_of(world).fleet == Fleet({"b.large": 4})
    assert world.spent_usd > 2000.0 / 3600 * 4 * 0.12


@pytest.mark.parametrize("broken", [{"capacity": 2}, {"boots": False}])
def test_a_grow_that_fails_is_rolled_back_and_the_flavor_counts_as_unavailable(broken):
    world = World(scenario(flavors=(SLOW, replace(FAST, **broken))))
    moves = Moves(world)
    moves.begin(Fleet({"b.large": 4}), Said(""), False, ())
    world.run_until(2000.0)
    assert moves.history[-1].phase is MovePhase.ROLLED_BACK
    assert observation_of(world).fleet == Fleet({"a.large": 4})
    failed_at = moves.history[-1].ended_at
    assert failed_at and moves.unavailable["b.large"] == pytest.approx(failed_at + world.scenario.unavailable_s)


@pytest.mark.parametrize(("spot", "waits_s"), [(False, [1800, 3600, 7200, 14400]), (True, [1800, 3600, 3600, 3600])])
def test_a_flavor_that_can_not_be_had_is_left_alone_as_long_as_in_a_real_run(spot, waits_s):
    world = World(scenario(flavors=(SLOW, replace(FAST, capacity=2, spot=spot))))
    moves, left_alone_s = Moves(world), []
    for _ in waits_s:
        moves.begin(Fleet({"b.large": 4}), Said(""), False, ())
        world.run_until(world.now + 200.0)
        left_alone_s.append(moves.unavailable["b.large"] - moves.history[-1].ended_at)
    assert left_alone_s == pytest.approx(waits_s)


@pytest.mark.parametrize("broken", [{"capacity": 0}, {"boots": False}])
def test_a_probe_goes_on_without_a_flavor_that_can_not_be_had(broken):
    world = World(scenario(flavors=(SLOW, FAST, replace(FAST, name="c.large", **broken)), max_nodes=6))
    moves = Moves(world)
    moves.begin(Fleet({"a.large": 4, "b.large": 1, "c.large": 1}), Said(""), True, ())
    world.run_until(2000.0)
    (done,) = moves.history
    assert (done.phase, done.left_out) == (MovePhase.DONE, Fleet({"c.large": 1}))
    assert observation_of(world).fleet == done.target == Fleet({"a.large": 4, "b.large": 1})
    assert {*moves.unavailable} == {"c.large"}
    assert {*moves.durations} == {MovePart.CONFIGURE}, "how long nodes boot was not to be seen"


def test_only_flavors_whose_nodes_boot_too_slowly_are_blamed():
    world = World(scenario(flavors=(SLOW, FAST, replace(FAST, name="c.large")), max_nodes=6, boot_timeout_s=95.0))
    moves = Moves(world)
    moves.begin(Fleet({"a.large": 4, "b.large": 1, "c.large": 1}), Said(""), True, ())
    world.run_until(2000.0)
    assert len(moves.unavailable) == 1
    assert moves.history[-1].left_out == Fleet(dict.fromkeys(moves.unavailable, 1))


def test_an_interrupted_spot_node_is_replaced():
    flaky = replace(SLOW, interruptions_per_hour=2.0)
    world = World(scenario(flavors=(flaky, FAST)))
    world.run_until(1e9)
    assert world.is_finished
    assert world.now > 36_000.0
    assert len(world.nodes.members) == 4


def test_cheapest_fleet_probes_the_other_flavor_and_then_moves_there():
    outcome = simulate(scenario(), "cheapest-fleet")
    assert outcome.moments[-1].fleet == Fleet({"b.large": 4})
    assert [decision.is_probe for decision in outcome.decisions if decision.verdict.value == "move"] == [True, False]
    oracle = simulate(scenario(), "oracle")
    assert oracle.cost_usd < outcome.cost_usd < 1.15 * oracle.cost_usd
    assert outcome.probe_usd < 0.05 * outcome.cost_usd


def test_a_flavor_that_cannot_win_is_never_started():
    expensive = replace(FAST, usd_per_hour=5.0)
    outcome = simulate(scenario(flavors=(SLOW, expensive)), "cheapest-fleet")
    assert outcome.moves == 0
    assert outcome.moments[-1].fleet == Fleet({"a.large": 4})


def test_a_flavor_that_never_boots_does_not_stop_the_training_nor_is_tried_for_ever():
    outcome = simulate(scenario(flavors=(SLOW, replace(FAST, boots=False))), "cheapest-fleet")
    assert outcome.finished
    assert 1 <= outcome.rolled_back <= 3


def test_a_deadline_that_the_present_fleet_misses_is_kept():
    hurried = scenario(deadline_s=6 * 3600.0)
    assert simulate(hurried, "cheapest-fleet").deadline_met
    assert simulate(hurried, "price-time").deadline_met is False


def test_noise_of_ten_percent_makes_no_flip_flop_between_equal_flavors():
    for seed in range(10):
        twins = (SLOW, replace(SLOW, name="b.large"))
        even = scenario(seed=seed, flavors=twins, initial=Fleet({"a.large": 2, "b.large": 2}), node_cv=0.03)
        outcome = simulate(even, "cheapest-fleet")
        assert outcome.flip_flops == 0
        assert outcome.moves <= 1


def test_a_move_back_within_the_cool_down_is_a_flip_flop():
    one, other = Fleet({"a": 1}), Fleet({"b": 1})

    def move(number, at, source, target):
        return Move(number, at, source, target, Said(""), MovePhase.DONE, ended_at=at + 10)

    assert flip_flops([move(1, 0.0, one, other), move(2, 100.0, other, one)], 300.0) == 1
    assert flip_flops([move(1, 0.0, one, other), move(2, 400.0, other, one)], 300.0) == 0


def test_ten_thousand_nodes_can_be_simulated():
    large = scenario(initial=Fleet({"a.large": 10_000}), min_nodes=10_000, max_nodes=10_000, total_steps=3000)
    large = replace(large, communication=Communication((0.001, 0.0, 0.0, 0.0)))
    assert simulate(large, "cheapest-fleet").finished


def test_the_same_seed_is_the_same_scenario_and_the_same_outcome():
    assert random_scenario(14) == random_scenario(14)
    first, again = (simulate(random_scenario(14), "cheapest-fleet") for _ in range(2))
    assert (first.cost_usd, first.time_s, first.moves) == (again.cost_usd, again.time_s, again.moves)


def test_policies_are_compared_with_the_oracle_and_summed_up():
    rows = compare(scenario(), ("cheapest-fleet", "hourly-price"))
    assert rows["oracle"].over_oracle == 1.0
    assert rows["cheapest-fleet"].over_oracle < rows["hourly-price"].over_oracle
    figures = summary([rows["cheapest-fleet"]])
    assert figures["cost_over_oracle"]["median"] == pytest.approx(rows["cheapest-fleet"].over_oracle, abs=1e-4)
    assert figures["flip_flops"] == 0


def test_a_training_that_never_ends_has_no_number_in_json_and_a_word_in_the_table():
    row = compare(scenario(), ("cheapest-fleet",))["cheapest-fleet"]
    endless = replace(row, outcome=replace(row.outcome, cost_usd=math.inf, finished=False))
    figures = summary([row, endless])
    assert figures["cost_over_oracle"]["worst"] is None
    assert figures["cost_over_oracle"]["p95"] is None
    assert figures["unfinished"] == 1
    json.dumps(figures, allow_nan=False)
    text = io.StringIO()
    Console(file=text, width=160).print(summary_table({"cheapest-fleet": figures}, 2))
    assert "endless" in text.getvalue()


def test_a_plot_is_written(tmp_path):
    outcomes = {policy: simulate(scenario(), policy) for policy in ("oracle", "cheapest-fleet")}
    plot(outcomes, "plain", tmp_path / "plain.svg")
    assert (tmp_path / "plain.svg").read_text().count("<path") > 10


SCENARIO_FILE = """
flavors:
  c5.large: {tokens_per_s: 2000, vcpus: 2}
  t2.large: {usd_per_hour: 0.0928, tokens_per_s: 1200, vcpus: 2}
initial: {t2.large: 4}
total_steps: 20000
tokens_per_step: 6000
communication_s: [0.02, 0, 0.01, 0]
deadline_s: 90000
price_changes: [{at_s: 3600, flavor: c5.large, usd_per_hour: 0.2}]
"""


def test_a_scenario_is_read_from_a_file_and_takes_missing_prices_from_the_list(tmp_path):
    path = tmp_path / "office.yml"
    path.write_text(SCENARIO_FILE)
    read = load_scenario(path, {"c5.large": 0.085})
    assert read.name == "office"
    assert read.flavor("c5.large").usd_per_hour == 0.085
    assert read.initial == Fleet({"t2.large": 4})
    assert simulate(read, "cheapest-fleet").finished


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "is not a mapping"),
        ("{", "is not YAML"),
        ("total_steps: 1", "has no flavors"),
        (
            SCENARIO_FILE.replace("t2.large: 4", "t9.large: 4"),
            "flavors of the initial fleet are not described: t9.large",
        ),
        (SCENARIO_FILE + "speed_limit: 3\n", "speed_limit"),
        (SCENARIO_FILE.replace("vcpus: 2", "cores: 2"), "cores"),
        (SCENARIO_FILE.replace("t2.large: 4", "t2.large: -4"), "whole number"),
    ],
)
def test_a_scenario_file_that_cannot_be_used_says_why(tmp_path, text, words):
    path = tmp_path / "bad.yml"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=words):
        load_scenario(path, {"c5.large": 0.085})


def test_vcpus_are_read_off_the_name():
    assert [vcpus_of(name) for name in ("t3.medium", "c5.large", "m5.xlarge", "r5.12xlarge", "m5.metal")] == [
        2,
        2,
        4,
        48,
        None,
    ]


def test_a_flavor_that_is_too_small_for_the_training_is_never_bought():
    small = replace(FAST, memory_bytes=1 << 30)
    plain = scenario(flavors=(replace(SLOW, memory_bytes=8 << 30), small))
    refused = simulate(replace(plain, needed_memory_bytes=1 << 30), "cheapest-fleet")
    assert refused.finished
    assert refused.moves == 0 and refused.probe_usd == 0
    assert all(moment.fleet == plain.initial for moment in refused.moments)
    unknown = simulate(plain, "cheapest-fleet")
    assert unknown.moments[-1].fleet == Fleet({"b.large": 4})
