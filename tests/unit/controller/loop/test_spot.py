"""What the spot market takes is replaced at once, from the pools that are best, and waited for where there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.domain import Decision, Fleet, MovePhase, NoticeKind, Price, Verdict
from controller.domain.prices.price import floor_name
from controller.domain.reasons import Said
from controller.domain.reasons.spot import NodesTakenBack
from controller.edges.terraform import Outputs
from controller.record.live.reporter import PlainReporter
from tests.unit.controller.harness import SETTINGS, SPEEDS, Controller, new_world
from tests.unit.controller.world import World

ALL_SPOT = tuple(SPEEDS)
FLEET = {"c5.large": 3}


def settings(**sections: Any) -> Mapping[str, Any]:
    return {**SETTINGS, "fleet": {"initial": FLEET}, **sections}


def stays(given: Any) -> Decision:
    """Decides for nothing, so that each move is one that replaces nodes."""
    now = given.observations[-1]
    return Decision(now.at, "scripted", Verdict.STAY, now.fleet, now.fleet, Said("nothing to do"))


class Run:
    """A run in a world, in which something happens once a step is reached."""

    def __init__(self, root: Path, happens: Callable[[World], Any], at_step: int = 60, **options: Any) -> None:
        given = options.pop("settings", settings())
        self.world = new_world(**{"total_steps": 600, "on_spot": ALL_SPOT, **options})
        self.notes: list[str] = []
        self.controller = Controller(self.world, root, stays, given, reporter=self._reporter())
        is_due = [True]

        latest = self.world.now + 3000.0

        def look(tick: float) -> None:
            assert self.world.now < latest, self.notes[-12:]
            if is_due and self.world.step >= at_step:
                is_due.pop()
                happens(self.world)

        self.world.at_each_tick.append(look)

    def _reporter(self) -> PlainReporter:
        notes = self.notes

        class Reporter(PlainReporter):
            def note(self, at: float, message: str) -> None:
                notes.append(message)

        return Reporter()

    def to_the_end(self) -> dict[str, Any]:
        report = self.controller.optimizer.run()
        assert not self.world.violations
        return report

    def told(self, words: str) -> list[str]:
        return [note for note in self.notes if words in note]


def interrupt_one(world: World) -> None:
    world.interrupt(world.ranks()[0])


def reclaim_all(world: World, for_s: float = 300.0) -> None:
    """Takes the whole fleet back. For a while there is no capacity on the spot market."""
    until = world.now + for_s
    for node in list(world.ranks()):
        world.interrupt(node)
    world.capacity_limits.update(dict.fromkeys(world.on_spot, 0))

    def give_again(tick: float) -> None:
        if world.now >= until:
            world.capacity_limits.clear()

    world.at_each_tick.append(give_again)


def test_a_node_that_is_taken_back_is_replaced_before_it_is_gone(tmp_path: Path) -> None:
    run = Run(tmp_path, interrupt_one)
    report = run.to_the_end()
    [move] = run.controller.journal.moves()
    assert isinstance(move.reason, NodesTakenBack)
    assert (move.phase, move.target.size, move.taken) == (MovePhase.DONE, 3, Fleet({"c5.large": 1}))
    assert report["training"]["steps_lost"] == 0
    [noticed] = run.controller.journal.noticed()
    assert noticed.kind is NoticeKind.INTERRUPTION
    assert move.ended_at is not None and noticed.ends_at is not None and move.ended_at < noticed.ends_at
    assert all(sum(asked.values()) <= 4 for asked in run.world.capacities), "one more at a time"


def test_the_replacement_comes_from_another_pool_than_the_one_that_was_just_lost(tmp_path: Path) -> None:
    run = Run(tmp_path, interrupt_one)
    run.to_the_end()
    [move] = run.controller.journal.moves()
    assert move.target.count("c5.large") == 2 and move.target.size == 3


def test_where_there_is_one_pool_the_replacement_comes_from_it(tmp_path: Path) -> None:
    run = Run(tmp_path, interrupt_one, on_spot=("c5.large",))
    run.to_the_end()
    [move] = run.controller.journal.moves()
    assert move.target == Fleet(FLEET) and move.phase is MovePhase.DONE
    assert {"c5.large": 4, "c5.xlarge": 0, "t2.medium": 0} in run.world.capacities


def test_a_recommendation_is_followed_while_the_node_trains(tmp_path: Path) -> None:
    run = Run(tmp_path, lambda world: world.recommend(world.ranks()[0]))
    report = run.to_the_end()
    [move] = run.controller.journal.moves()
    assert move.phase is MovePhase.DONE and report["training"]["steps_lost"] == 0
    assert run.told("EC2 recommends to replace")


def test_a_recommendation_is_not_followed_where_the_settings_say_so(tmp_path: Path) -> None:
    given = settings(spot={"rebalance": False})
    run = Run(tmp_path, lambda world: world.recommend(world.ranks()[0]), settings=given)
    run.to_the_end()
    assert not run.controller.journal.moves() and run.told("EC2 recommends to replace")


def test_a_recommendation_without_capacity_elsewhere_lets_the_run_go_on_as_it_is(tmp_path: Path) -> None:
    def recommend(world: World) -> None:
        world.recommend(world.ranks()[0])
        world.capacity_limits.update({"c5.large": 3, "c5.xlarge": 0, "t2.medium": 0})

    run = Run(tmp_path, recommend)
    run.to_the_end()
    assert not run.told("no spot capacity") and run.controller.journal.shortage() is None


def test_the_whole_fleet_taken_back_costs_the_steps_since_the_checkpoint_and_goes_on_by_itself(tmp_path: Path) -> None:
    run = Run(tmp_path, reclaim_all)
    report = run.to_the_end()
    assert report["status"] == "finished"
    lost = sum(steps for _, _, steps in run.world.incidents)
    assert lost <= 1, run.world.incidents
    assert run.told("no spot capacity for 3 x c5.large") and run.told("there is capacity again after")
    assert run.told("stopping the launcher until there is capacity")


def test_while_it_waits_nothing_but_the_head_is_paid(tmp_path: Path) -> None:
    run = Run(tmp_path, lambda world: reclaim_all(world, 1200.0))
    seen: list[float] = []
    run.world.at_each_tick.append(lambda tick: seen.append(run.world.usd_per_hour()))
    run.to_the_end()
    assert seen.count(run.world.head_usd_per_hour) > 900


def test_it_falls_back_to_on_demand_when_the_settings_allow(tmp_path: Path) -> None:
    given = settings(spot={"on_demand_fallback": True, "wait_s": 60})
    spot = ("c5.large", "c5.xlarge")
    run = Run(tmp_path, lambda world: reclaim_all(world, 5000.0), settings=given, on_spot=spot)
    report = run.to_the_end()
    assert report["status"] == "finished"
    assert run.controller.journal.moves()[-1].target == Fleet({"t2.medium": 3})
    assert run.told("so nodes are bought on demand") and run.world.now < 1_800_000_000.0 + 2500


def test_without_leave_it_does_not_fall_back(tmp_path: Path) -> None:
    spot = ("c5.large", "c5.xlarge")
    run = Run(tmp_path, lambda world: reclaim_all(world, 900.0), on_spot=spot)
    run.to_the_end()
    assert all(not asked.get("t2.medium") for asked in run.world.capacities)


def test_nodes_on_demand_are_left_to_their_groups(tmp_path: Path) -> None:
    run = Run(tmp_path, interrupt_one, on_spot=())
    run.to_the_end()
    assert not run.controller.journal.moves()


@pytest.mark.parametrize("most_usd", [0.2763, 0.36])
def test_the_hourly_limit_holds_while_a_node_is_replaced(tmp_path: Path, most_usd: float) -> None:
    """With the head, 3 x c5.large cost $0.2758 an hour, 4 cost $0.3608."""
    given = settings(limits={"min_nodes": 3, "max_nodes": 3, "max_usd_per_hour": most_usd})
    run = Run(tmp_path, interrupt_one, settings=given, on_spot=("c5.large",))
    run.to_the_end()
    assert run.world.most_spent_usd_per_hour <= most_usd
    assert run.told("can be replaced only when they are gone")


@pytest.mark.parametrize(("floor", "expected"), [(0, "c5.xlarge"), (1, "c5.large")])
def test_a_replacement_that_its_group_would_buy_on_demand_has_to_keep_the_hourly_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, floor: int, expected: str
) -> None:
    monkeypatch.setattr(Outputs, "floors", property(lambda outputs: {"c5.xlarge": floor}))
    given = settings(limits={"min_nodes": 3, "max_nodes": 3, "max_usd_per_hour": 1.0})
    run = Run(tmp_path, interrupt_one, settings=given, on_spot=("c5.large", "c5.xlarge"))
    run.controller.prices[floor_name("c5.xlarge")] = Price("c5.xlarge", 2.0)
    run.to_the_end()
    (move,) = run.controller.journal.moves()
    assert isinstance(move.reason, NodesTakenBack) and move.reason.replaced_by == Fleet({expected: 1})


def test_a_controller_that_begins_anew_knows_of_the_shortage(tmp_path: Path) -> None:
    run = Run(tmp_path, reclaim_all)
    journal = run.controller.journal
    run.to_the_end()
    assert journal.shortage() is None and len(journal.noticed()) == 3
    assert journal.losses()["c5.large"].lost == 3 and journal.losses()["c5.large"].node_hours > 0


@pytest.mark.parametrize(("mode", "flavor"), [(None, "t2.medium"), ("unlimited", "c5.xlarge")])
def test_a_pool_is_as_dear_as_its_nodes_are_with_surplus_credits(tmp_path: Path, mode: str | None, flavor: str) -> None:
    """A t2.medium of $0.0464 costs $0.1264 an hour where it may spend credits that it has not earned."""
    run = Run(tmp_path, interrupt_one, cpu_credits={"t2.medium": mode} if mode else {})
    run.controller.prices["c5.xlarge"] = Price("c5.xlarge", 0.1)
    run.to_the_end()
    assert run.controller.journal.moves()[0].target == Fleet({"c5.large": 2, flavor: 1})
