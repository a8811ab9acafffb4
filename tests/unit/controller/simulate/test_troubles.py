"""What happens by itself in a simulated world: drift, neighbours, spot pools taken back, other batches, late facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide import SpeedSpread
from controller.domain import Fleet, MovePhase
from controller.domain.reasons import Said
from controller.simulate.disturbances import Disturbances, expected_drift, expected_neighbour_share
from controller.simulate.moves import Moves
from controller.simulate.passes import Passes
from controller.simulate.scenario import Scenario, SimulatedFlavor, parse_scenario
from controller.simulate.troubles import BatchPhase, Outage, Troubles
from controller.simulate.view import View
from controller.simulate.world import World

SPOT = SimulatedFlavor("a.large", 0.10, 1000.0, vcpus=2, spot=True)
OTHER = SimulatedFlavor("b.large", 0.12, 3000.0, vcpus=2)


def world_with(troubles: Troubles, **changes: object) -> World:
    """Four spot nodes of the same speed, with ten hours of work, among these troubles."""
    plain = Scenario(
        name="troubled",
        seed=5,
        flavors=(SPOT, OTHER),
        initial=Fleet({"a.large": 4}),
        total_steps=36_000,
        tokens_per_step=4000.0,
        node_cv=0.0,
        bad_node_share=0.0,
        heavy_tail_share=0.0,
        troubles=troubles,
    )
    world = World(replace(plain, **changes))  # type: ignore[arg-type]
    Disturbances(world).begin()
    return world


def test_without_troubles_a_step_takes_a_second_all_along() -> None:
    world = world_with(Troubles())
    world.run_until(1e9)
    assert world.now == pytest.approx(36_000.0)


def test_a_step_with_twice_the_tokens_takes_twice_as_long() -> None:
    phases = (BatchPhase(12_000, 2.0), BatchPhase(24_000, 0.5))
    world = world_with(Troubles(phases=phases))
    world.run_until(1e9)
    assert world.now == pytest.approx(12_000 + 24_000 + 6_000)
    assert world.scenario.tokens_until(36_000) == pytest.approx(4000.0 * (12_000 + 24_000 + 6_000))
    assert View(world).progress().tokens == int(world.scenario.tokens_until(36_000))


@pytest.mark.parametrize("credits_s", [10.1, 333.3, 1234.5678])
def test_the_end_of_credits_shows_whatever_is_rounded(credits_s: float) -> None:
    """The controller looks soon after it, even where it would have slept for hours."""
    burstable = replace(SPOT, baseline_share=0.25, credits_s=credits_s)
    world = world_with(Troubles(), flavors=(burstable, OTHER))
    world.run_until(7.7)
    world.has_changed = False
    world.run_until(1e9, notice_s=60.0)
    assert world.has_changed
    assert world.now == pytest.approx(credits_s + 60.0)


def test_after_a_change_five_windows_of_slow_steps_are_seen() -> None:
    """A window of 50 steps takes 33 minutes here: passes do not become rare before five of them were seen."""
    world = world_with(Troubles(), tokens_per_step=160_000.0)
    moves, seen = Moves(world), list[float]()
    passes = Passes(world, moves, cooldown_s=300.0)
    world.has_changed = True
    while world.now < 5 * 50 * 40.0:
        passes.looked()
        seen.append(passes.interval_s)
        world.has_changed = False
        world.run_until(world.now + passes.interval_s)
    assert max(seen) == pytest.approx(25 * 40.0)
    passes.looked()
    assert passes.interval_s > 25 * 40.0


def test_facts_tell_the_tokens_of_the_present_phase() -> None:
    world = world_with(Troubles(phases=(BatchPhase(100, 3.0),)))
    for step, tokens in ((90, 4000.0), (300, 12_000.0)):
        world.run_until(world.now + (step - world.step) * world.step_time_s())
        assert sum(fact.tokens for fact in View(world).look_after(1.0).facts) == pytest.approx(tokens)


def test_a_pool_that_is_taken_back_comes_back_when_it_opens_again() -> None:
    world = world_with(Troubles(outages=(Outage(1000.0, "a.large", 0.75, 1800.0),)))
    world.run_until(1100.0)
    assert world.nodes.fleet() == Fleet({"a.large": 1})
    world.run_until(2700.0)
    assert len(world.nodes.working) == 1
    world.run_until(1000.0 + 1800.0 + 900.0)
    assert len(world.nodes.working) == 4


def test_a_closed_pool_gives_no_nodes_to_a_move() -> None:
    world = world_with(Troubles(outages=(Outage(1000.0, "b.large", 1.0, 3600.0),)))
    world.run_until(1100.0)
    moves = Moves(world)
    moves.begin(Fleet({"b.large": 4}), Said(""), False, ())
    world.run_until(2000.0)
    assert moves.history[-1].phase is MovePhase.ROLLED_BACK


def test_nodes_that_were_given_up_do_not_come_back_with_their_pool() -> None:
    world = world_with(Troubles(outages=(Outage(1000.0, "a.large", 0.5, 7200.0),)))
    world.run_until(1100.0)
    moves = Moves(world)
    moves.begin(Fleet({"b.large": 2}), Said(""), False, ())
    world.run_until(1e5)
    assert world.is_finished
    assert {node.flavor.name for node in world.nodes.members} == {"b.large"}


def test_a_pool_that_is_taken_back_while_a_move_grows_it_loses_the_new_nodes() -> None:
    world = world_with(Troubles(outages=(Outage(50.0, "b.large", 1.0, 600.0),)))
    moves = Moves(world)
    moves.begin(Fleet({"a.large": 2, "b.large": 2}), Said(""), False, ())
    world.run_until(500.0)
    assert not any(node.flavor.name == "b.large" for node in world.nodes.all)


def test_drift_is_the_same_whatever_is_decided_and_leaves_the_mean_alone() -> None:
    drifting = Troubles(drift_sigma=0.2, drift_correlation_s=7200.0)
    still, moved = world_with(drifting), world_with(drifting)
    Moves(moved).begin(Fleet({"b.large": 4}), Said(""), False, ())
    for world in (still, moved):
        world.run_until(5000.0)
    assert still.nodes.drifts == moved.nodes.drifts
    assert still.nodes.drifts["a.large"] != 1.0
    assert still.nodes.working[0].tokens_per_s == pytest.approx(1000.0 * still.nodes.drifts["a.large"])
    assert expected_drift(1.5, 1e9, drifting) == pytest.approx(1.0, abs=1e-3)
    assert expected_drift(1.5, 1e-3, drifting) == pytest.approx(1.5)


def test_noisy_neighbours_cost_the_share_of_speed_that_is_expected() -> None:
    noisy = Troubles(neighbours_per_hour=2.0, neighbour_s=900.0)
    world = world_with(noisy, total_steps=2_000_000)
    world.run_until(1_000_000.0)
    assert world.step / 1_000_000 == pytest.approx(expected_neighbour_share(noisy), abs=0.02)


def test_late_facts_are_as_old_as_the_scenario_says() -> None:
    world = world_with(Troubles(facts_delay_s=300.0))
    view = View(world)
    ages = []
    for wait_s in (60.0, 60.0, 60.0, 60.0, 60.0, 60.0, 1800.0):
        seen = view.look_after(wait_s)
        ages.append({seen.at - fact.updated_at for fact in seen.facts})
    assert ages[0] == set()
    assert ages[-1] == {300.0}
    assert all(age >= 300.0 for some in ages for age in some)


def test_of_ten_facts_so_many_go_missing() -> None:
    view = View(world_with(Troubles(missing_facts_share=0.3)))
    seen = [len(view.look_after(60.0).facts) for _ in range(200)]
    assert sum(seen) / len(seen) == pytest.approx(0.7 * 4, abs=0.25)


def test_time_passes_no_longer_than_the_notice_after_something_shows() -> None:
    world = world_with(Troubles(outages=(Outage(1000.0, "a.large", 0.5, 600.0),)))
    world.run_until(30_000.0, notice_s=60.0)
    assert world.now == pytest.approx(1060.0)
    assert world.has_changed


def test_troubles_and_what_is_told_are_read_from_a_file() -> None:
    raw = {
        "flavors": {"a.large": {"usd_per_hour": 0.1, "tokens_per_s": 1000.0}},
        "initial": {"a.large": 2},
        "total_steps": 100,
        "tokens_per_step": 100.0,
        "told": {"baselines": False, "switching": {"configure_s": 30.0}},
        "spread": {"own": 0.5},
        "troubles": {
            "drift_sigma": 0.1,
            "outages": [{"at_s": 5.0, "flavor": "a.large", "share": 0.5, "seconds": 60.0}],
            "phases": [{"from_step": 50, "factor": 2.0}],
        },
    }
    scenario = parse_scenario(raw, "file")
    assert not scenario.told.baselines
    assert scenario.told.switching is not None and scenario.told.switching.configure_s == 30.0
    assert scenario.spread == SpeedSpread(own=0.5)
    assert scenario.troubles.outages[0].seconds == 60.0
    assert scenario.tokens_at(60) == 200.0
