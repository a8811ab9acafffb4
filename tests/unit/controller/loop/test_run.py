"""The main job from the outside: a small world, the real loop, and what is left at the end.

The controller is killed at one in four calls of each kind, and at all calls where CI=true.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from controller.decide import DecisionInput
from controller.domain import Decision, Fleet, MovePhase, Price, Verdict
from controller.domain.errors import (
    AnsibleError,
    AskedToStopError,
    AwsError,
    BudgetReachedError,
    CentavoError,
    ConfigError,
    NodesError,
    NodesTooSmallError,
    StoppedError,
    TerraformError,
    TrainingFailedError,
)
from controller.domain.reasons import Said
from controller.domain.reasons.ending import ResultsMissing, StopAsked
from controller.domain.reasons.flavors import FlavorsTooSmall, MemoryTooSmall
from controller.domain.reasons.moving import NoCapacity, WaitsAfterFailure
from controller.domain.reasons.plans import PlanRefused, TouchesResource
from controller.record.journal import Stage
from tests.support.sampling import sample
from tests.unit.controller.harness import SETTINGS, Controller, new_world
from tests.unit.controller.world import KilledError, World

Start = Callable[..., Any]


def test_a_run_ends_on_the_cheapest_fleet_with_its_results_and_nothing_left_running(
    world: World,
    controller: Start,
) -> None:
    one = controller()
    report = one.optimizer.run()
    assert report["status"] == "finished"
    assert report["fleet"] == {"initial": {"t2.medium": 1, "c5.large": 1, "c5.xlarge": 1}, "final": {"c5.large": 3}}
    assert [move["outcome"] for move in report["moves"]] == ["done"]
    assert report["moves"][0]["pause_s"] == 3.0
    assert report["training"]["bleu"] == 31.4
    assert report["cost"]["saved_percent"] > 0
    assert world.fleet() == {}
    assert json.loads((one.journal.directory / "report.json").read_text()) == report


def run_killed_at(world: World, controller: Start, number: int, moment: str) -> dict[str, Any] | None:
    """Runs until the call of this number, dies there, and lets a second process carry on. None without such a call."""
    world.kill_at = (number, moment)
    first = controller()
    try:
        first.optimizer.run()
    except KilledError:
        first.journal.close()
    else:
        return None
    world.kill_at = None
    report: dict[str, Any] = controller().optimizer.run()
    return report


def calls_of_a_run(controller: Start, world: World) -> int:
    controller().optimizer.run()
    return len(world.calls)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_controller_killed_at_any_call_is_carried_on_to_the_same_end(moment: str, tmp_path: Path) -> None:
    calls = calls_of_a_run(partial(Controller, probe := new_world(), tmp_path / "probe"), probe)
    assert calls > 60
    for number in sample(range(calls), lambda number: probe.calls[number], every=4):
        world = new_world()
        report = run_killed_at(world, partial(Controller, world, tmp_path / f"{number}"), number, moment)
        assert report is not None, f"call {number} was not reached"
        assert report["status"] == "finished", f"killed {moment} call {number}, {probe.calls[number]}"
        assert report["fleet"]["final"] == {"c5.large": 3}, f"killed {moment} call {number}, {probe.calls[number]}"
        assert world.fleet() == {}
        assert all(move["outcome"] in ("done", "refused") for move in report["moves"])


def test_a_flavor_without_capacity_is_rolled_back_remembered_and_tried_again_later(
    world: World,
    controller: Start,
) -> None:
    world.capacity_limits["c5.large"] = 2
    world.total_steps = 2000
    one = controller()
    report = one.optimizer.run()
    first = report["moves"][0]
    assert first["outcome"] == "rolled_back"
    assert one.journal.moves()[0].outcome_reason == NoCapacity({"c5.large": "insufficient capacity for c5.large"})
    assert first["outcome_code"] == "no-capacity"
    assert report["status"] == "finished"
    tries = [move for move in one.journal.moves() if move.target.count("c5.large") > move.source.count("c5.large")]
    assert len(tries) > 1
    assert "c5.large" in one.journal.unavailable(tries[0].ended_at or 0.0)
    assert tries[1].at - (tries[0].ended_at or 0.0) >= SETTINGS["controller"]["unavailable_s"] - 15
    assert report["fleet"]["final"].get("c5.large") == 2, "the two that can be had are used"


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("never_answers", "no-answer"),
        ("fails_to_configure", "configuring-failed"),
        ("never_joins", "did-not-join"),
    ],
)
def test_a_node_that_does_not_come_to_life_costs_no_rank(
    world: World,
    controller: Start,
    what: str,
    code: str,
) -> None:
    world.total_steps = 300
    one = controller(decider=grow_once(world, what))
    report = one.optimizer.run()
    assert [move["outcome"] for move in report["moves"]] == ["rolled_back"]
    assert report["moves"][0]["outcome_code"] == code
    assert report["status"] == "finished"
    assert report["fleet"]["final"] == report["fleet"]["initial"]
    move = one.journal.moves()[0]
    assert move.outcome_reason == one.journal.unavailable(move.ended_at or 0.0)["c5.large"][1]


def grow_once(world: World, what: str) -> Callable[..., Decision]:
    """Decides once for three c5.large, and spoils the new ones in the way that is named."""

    def decide(given: DecisionInput) -> Decision:
        now = given.observations[-1]
        target = Fleet({"c5.large": 3})
        if given.history.moves or len(now.facts) < now.fleet.size:
            return Decision(now.at, "test", Verdict.STAY, now.fleet, now.fleet, Said("nothing to do"))
        if what == "never_joins":
            world.never_joins = {f"i-{number:04}" for number in range(4, 7)}
        else:
            getattr(world, what).add("c5.large")
        return Decision(now.at, "test", Verdict.MOVE, now.fleet, target, Said("cheaper"))

    return decide


@pytest.mark.parametrize("call", ["plan", "apply", "site.yml", "hosts.yml", "instances", "protection"])
@pytest.mark.parametrize("skip", range(4))
def test_an_edge_that_fails_once_anywhere_in_a_move_neither_loses_a_rank_nor_ends_the_run(
    world: World,
    controller: Start,
    call: str,
    skip: int,
) -> None:
    one = controller()
    errors = {"plan": TerraformError, "apply": TerraformError, "instances": AwsError, "protection": AwsError}
    spoil_after_start(world, call, skip, errors.get(call, AnsibleError)("it failed", "try again"))
    report = one.optimizer.run()
    assert report["status"] == "finished"
    assert world.fleet() == {}
    assert all(move["outcome"] in ("done", "rolled_back", "refused") for move in report["moves"])


def spoil_after_start(world: World, call: str, skip: int, error: CentavoError) -> None:
    """Lets the call of this name fail once, `skip` calls of it after the training has begun."""
    original, left = world.call, [skip]

    def spoiled(name: str, effect: Any, seconds: float = 0.0) -> Any:
        if name == call and world.step > 0 and not world.outcome:
            if left[0] == 0:
                world.failures.setdefault(call, []).append(error)
            left[0] -= 1
        return original(name, effect, seconds)

    world.call = spoiled  # type: ignore[method-assign]


def test_a_price_that_rises_while_the_training_runs_moves_the_fleet_on(world: World, controller: Start) -> None:
    world.total_steps = 4000
    one = controller()
    first = one.decide

    def decide(given: DecisionInput) -> Decision:
        if world.step > 500:
            one.prices["c5.large"] = Price("c5.large", 0.85)
        return first(given)

    one.decide = decide
    report = one.optimizer.run()
    assert [move["to"] for move in report["moves"]] == [{"c5.large": 3}, {"t2.medium": 3}]
    assert report["flavors"]["c5.large"]["usd_per_hour"] == 0.85


def test_all_nodes_of_a_run_get_the_settings_that_its_first_ones_got(world: World, controller: Start) -> None:
    one = controller()
    given: list[str] = []
    configure = one.ansible._configure

    def noting(hosts: list[str]) -> None:
        given.append(Path(one.ansible.extra_vars["site.yml"]["centavo"]["training_config"]).read_text())
        (one.root / "training.yml").write_text("model: { preset: big }\n")
        configure(hosts)

    one.ansible._configure = noting
    one.optimizer.run()
    assert len(given) > 1 and set(given) == {"model: { preset: tiny }\nbatch: { tokens: 600 }\n"}


def test_a_lost_node_is_replaced_prepared_and_let_in(world: World, controller: Start) -> None:
    one = controller(
        decider=stay_and(
            lambda: world.lose("i-0001") if world.step > 100 and world.nodes[0].instance_id == "i-0001" else None
        )
    )
    report = one.optimizer.run()
    assert report["status"] == "finished"
    sizes = [len(observation.facts) for observation in one.journal.observations()]
    assert sizes[-2] == 3
    assert {f.instance_id for o in one.journal.observations() for f in o.facts} == {
        "i-0001",
        "i-0002",
        "i-0003",
        "i-0004",
    }


def stay_and(act: Callable[[], None]) -> Callable[..., Decision]:
    """Decides for nothing, and does something to the world meanwhile."""

    def decide(given: DecisionInput) -> Decision:
        act()
        now = given.observations[-1]
        return Decision(now.at, "test", Verdict.STAY, now.fleet, now.fleet, Said("nothing to do"))

    return decide


def test_a_capacity_file_changed_by_a_person_is_left_alone(world: World, controller: Start) -> None:
    one = controller()
    foreign = json.dumps({"capacity": {"t2.medium": 1, "c5.large": 1, "c5.xlarge": 2}})
    original = one.decide

    def decide(given: DecisionInput) -> Decision:
        one.environment.capacity_file.write_text(foreign)
        return original(given)

    one.decide = decide
    report = one.optimizer.run()
    assert report["status"] == "finished"
    assert report["moves"] == []
    assert any("was changed by someone else" in event["message"] for event in one.journal.events())


def test_a_failed_training_is_an_error_and_its_workers_are_given_back(world: World, controller: Start) -> None:
    def fail() -> None:
        world.outcome = "failed" if world.step > 50 else None

    one = controller(decider=stay_and(fail))
    with pytest.raises(TrainingFailedError, match="The training failed"):
        one.optimizer.run()
    assert world.fleet() == {}
    assert one.journal.stage() is Stage.ENDED


def test_workers_without_a_price_are_given_back_at_the_end(world: World, controller: Start) -> None:
    def gone(_: Any) -> None:
        if world.step >= world.total_steps:
            one.prices.pop("t2.medium", None)

    one = controller(decider=stay_and(lambda: None))
    world.at_each_tick.append(gone)
    assert one.optimizer.run()["status"] == "finished"
    assert world.fleet() == {}
    told = [event["message"] for event in one.journal.events()]
    assert any("the bill is not whole" in message and "t2.medium" in message for message in told)


def test_a_fleet_that_turns_out_to_have_no_price_when_it_is_made_is_given_back(world: World, controller: Start) -> None:
    one = controller()

    def bring_up() -> None:
        one.bring_up()
        raise ConfigError("prices.yml has no price for c5.xlarge.", "Add a line.")

    one.optimizer._bring_up = bring_up
    with pytest.raises(ConfigError, match=r"no price for c5\.xlarge"):
        one.optimizer.run()
    assert one.journal.stage() is Stage.ENDED
    assert world.fleet() == {}


def test_a_launcher_that_can_not_be_stopped_keeps_no_worker(world: World, controller: Start) -> None:
    one = controller(decider=stay_and(lambda: None), settings=with_budget(0.002))
    world.failures["stop.yml"] = [AnsibleError("the head does not answer", "look")] * 10
    world.may_end_ranks = True
    with pytest.raises(BudgetReachedError):
        one.optimizer.run()
    assert world.fleet() == {}
    assert any("could not be stopped: the head does not answer" in event["message"] for event in one.journal.events())


def test_a_budget_that_is_reached_stops_the_training_and_gives_everything_back(world: World, controller: Start) -> None:
    one = controller(decider=stay_and(lambda: None), settings=with_budget(0.004))
    with pytest.raises(BudgetReachedError) as reached:
        one.optimizer.run()
    report = json.loads((one.journal.directory / "report.json").read_text())
    assert reached.value.exit_code == 14
    assert (report["status"], report["status_code"]) == ("budget_reached", "budget-reached")
    assert not world.is_started and world.outcome is None and world.fleet() == {}
    boot_usd = world.boot_s * world.most_spent_usd_per_hour / 3600
    assert 0.002 < world.spent_usd <= 0.004 + boot_usd


def test_a_person_who_asks_for_it_stops_the_training_and_everything_is_given_back(
    world: World, controller: Start
) -> None:
    asked: list[StopAsked] = []
    one = controller(
        decider=stay_and(lambda: asked.append(StopAsked("ada@laptop", 0.0))), asked=lambda: (asked or [None])[0]
    )
    with pytest.raises(AskedToStopError, match="ada@laptop asked for it") as stopped:
        one.optimizer.run()
    report = json.loads((one.journal.directory / "report.json").read_text())
    assert stopped.value.exit_code == 15
    assert (report["status"], report["status_code"]) == ("stopped", "stop-asked")
    assert not world.is_started and world.outcome is None and world.fleet() == {}
    assert one.journal.stage() is Stage.ENDED


def test_a_person_who_asks_for_it_before_the_training_begins_pays_for_no_training(
    world: World, controller: Start
) -> None:
    reason = StopAsked("ada@laptop", 0.0)
    one = controller(asked=lambda: reason)
    one.bring_up()
    with pytest.raises(AskedToStopError):
        one.optimizer.run()
    assert one.journal.stage() is Stage.ENDED and one.journal.status() == "stopped"
    assert world.fleet() == {} and not world.is_started


def with_budget(usd: float) -> dict[str, Any]:
    """Returns the settings with a budget."""
    controller = {**SETTINGS["controller"], "ending_s": 25}
    return {**SETTINGS, "limits": {**SETTINGS["limits"], "budget_usd": usd}, "controller": controller}


def test_a_refused_move_is_tried_again_after_twice_the_time_each_time(world: World, controller: Start) -> None:
    """The plan would destroy a bucket, whatever the controller asks for."""
    world.total_steps = 3000
    one = controller()
    one.terraform.extra_changes = [
        {"address": "aws_s3_bucket.this", "type": "aws_s3_bucket", "change": {"actions": ["delete"]}}
    ]
    world.is_up = True  # only moves are planned with these changes
    report = one.optimizer.run()
    moves = one.journal.moves()
    assert len(moves) >= 3 and {move["outcome"] for move in report["moves"]} == {"refused"}
    waits = [later.at - (earlier.ended_at or 0.0) for earlier, later in pairwise(moves)]
    first_s = SETTINGS["controller"]["unavailable_s"]
    for failures, waited_s in enumerate(waits):
        assert first_s * 2**failures <= waited_s <= first_s * 2**failures + 30
    assert world.fleet() == {}, "the workers are given back all the same, by their groups"
    told = {decision.reason for decision in one.journal.decisions() if decision.verdict is Verdict.REFUSE}
    assert len(told) == len(moves) and all(isinstance(reason, WaitsAfterFailure) for reason in told)


@pytest.mark.parametrize(
    ("call", "error"),
    [("plan", TerraformError), ("apply", TerraformError), ("protection", AwsError), ("instances", AwsError)],
)
def test_trouble_at_the_end_leaves_no_worker_running(
    world: World, controller: Start, call: str, error: type[CentavoError]
) -> None:
    one = controller(decider=stay_and(lambda: None))
    original = world.call

    def spoiled(name: str, effect: Any, seconds: float = 0.0) -> Any:
        if name == "fetch.yml":
            world.failures[call] = [error("no answer", "try again")] * 2
        return original(name, effect, seconds)

    world.call = spoiled  # type: ignore[method-assign]
    assert one.optimizer.run()["status"] == "finished"
    assert world.fleet() == {}
    assert one.cluster.capacity.read() == Fleet({})


def test_a_finished_training_without_results_ends_as_failed_with_everything_given_back(
    world: World, controller: Start
) -> None:
    world.head.has_results = False
    one = controller(decider=stay_and(lambda: None))
    with pytest.raises(TrainingFailedError, match="has finished, but the folder `results` on the head is missing"):
        one.optimizer.run()
    assert (one.journal.stage(), one.journal.status()) == (Stage.ENDED, "failed")
    assert one.journal.status_reason() == ResultsMissing()
    assert world.fleet() == {}


@pytest.mark.parametrize("error", [AnsibleError, NodesError])
def test_results_that_cannot_be_fetched_wait_in_the_bucket_and_it_is_told_where(
    world: World, controller: Start, error: type[CentavoError]
) -> None:
    one = controller(decider=stay_and(lambda: None))
    world.failures["fetch.yml"] = [error("no answer", "try again")] * 3
    if error is AnsibleError:
        with pytest.raises(AnsibleError):
            one.optimizer.run()
    else:
        one.optimizer.run()
    told = [event["message"] for event in one.journal.events() if "s3://bucket/" in event["message"]]
    assert len(told) == 1 and f"s3://bucket/{one.journal.info().run}/results" in told[0]
    assert world.fleet() == {}, "nothing is paid meanwhile"


def test_a_flavor_that_can_not_be_had_again_and_again_is_left_alone_longer_and_longer(
    world: World, controller: Start
) -> None:
    """Each time another number of it is asked for: it is the flavor that has to wait."""
    world.capacity_limits["c5.large"] = 1
    world.total_steps = 4000

    def decide(given: DecisionInput) -> Decision:
        now, target = given.observations[-1], Fleet({"c5.large": 2 + len(given.history.moves)})
        verdict = Verdict.MOVE if len(now.facts) == now.fleet.size else Verdict.STAY
        return Decision(now.at, "test", verdict, now.fleet, target, Said("cheaper"))

    one = controller(decider=decide)
    one.optimizer.run()
    tries = one.journal.moves()
    waits = [later.at - (earlier.ended_at or 0.0) for earlier, later in pairwise(tries)]
    first_s = SETTINGS["controller"]["unavailable_s"]
    assert len(waits) >= 3
    for failures, waited_s in enumerate(waits):
        assert 0.8 * first_s * 2**failures <= waited_s <= first_s * 2**failures + 10


def test_the_bad_node_of_a_decision_leaves_and_not_the_highest_rank(world: World, controller: Start) -> None:
    def decide(given: DecisionInput) -> Decision:
        now, bad = given.observations[-1], "i-0001"
        if given.history.moves or len(now.facts) < now.fleet.size:
            return Decision(now.at, "test", Verdict.STAY, now.fleet, now.fleet, Said("nothing to do"))
        target = Fleet({"c5.large": 2})
        return Decision(now.at, "test", Verdict.MOVE, now.fleet, target, Said("slow"), bad_nodes=(bad,))

    one = controller(decider=decide, settings={**SETTINGS, "fleet": {"initial": {"c5.large": 3}}})
    one.optimizer.run()
    [move] = one.journal.moves()
    assert (move.phase, move.drain) == (MovePhase.DONE, ("i-0001",))
    assert one.journal.members() == {"i-0002", "i-0003"}


def test_a_probe_is_remembered_as_one(world: World, controller: Start) -> None:
    def decide(given: DecisionInput) -> Decision:
        now = given.observations[-1]
        target = Fleet({"t2.medium": 1, "c5.large": 2, "c5.xlarge": 1})
        is_new = not given.history.moves and len(now.facts) == now.fleet.size
        verdict = Verdict.MOVE if is_new else Verdict.STAY
        return Decision(
            now.at, "test", verdict, now.fleet, target if is_new else now.fleet, Said("try it"), is_probe=is_new
        )

    one = controller(decider=decide)
    one.optimizer.run()
    assert [move.is_probe for move in one.journal.moves()] == [True]


def test_a_plan_that_would_touch_anything_else_refuses_the_move(world: World, controller: Start) -> None:
    one = controller()
    one.terraform.extra_changes = []
    original = one.decide

    def decide(given: DecisionInput) -> Decision:
        one.terraform.extra_changes = (
            []
            if given.history.moves
            else [{"address": "aws_s3_bucket.this", "type": "aws_s3_bucket", "change": {"actions": ["delete"]}}]
        )
        return original(given)

    one.decide = decide
    report = one.optimizer.run()
    assert report["moves"][0]["outcome"] == "refused"
    (move,) = [move for move in one.journal.moves() if move.move_id == 1]
    assert move.outcome_reason == PlanRefused((TouchesResource("aws_s3_bucket.this", "destroy"),))
    assert report["status"] == "finished"


def test_a_stopped_controller_leaves_the_fleet_and_a_second_one_carries_on(world: World, controller: Start) -> None:
    one = controller()

    def stop(seconds: float) -> None:
        world.advance(seconds)
        if world.step > 100:
            raise StoppedError("Stopped.")

    one.clock.sleep = stop
    with pytest.raises(StoppedError):
        one.optimizer.run()
    assert world.fleet() != {}
    assert json.loads((one.journal.directory / "report.json").read_text())["status"] == "running"
    two = controller()
    assert two.journal.info().run == one.journal.info().run
    assert two.optimizer.run()["status"] == "finished"


@pytest.mark.parametrize("is_up", [False, True])
def test_a_run_on_nodes_that_are_too_small_ends_and_says_why(world: World, controller: Start, is_up: bool) -> None:
    one = controller()
    if is_up:
        one.bring_up()
    small = FlavorsTooSmall({"t2.medium": MemoryTooSmall(1 << 30, 3 << 30, 512 << 20, is_measured=False)})

    def refuse() -> None:
        raise NodesTooSmallError("The nodes are too small.", "Take larger ones.", reason=small)

    one.optimizer._bring_up = refuse
    with pytest.raises(NodesTooSmallError, match="too small"):
        one.optimizer.run()
    assert one.journal.stage() is Stage.ENDED
    assert world.fleet() == {} and world.is_up is is_up
    report = json.loads((one.journal.directory / "report.json").read_text())
    assert report["status"] == "failed" and "too little memory" in report["status_reason"]


def test_a_node_that_was_to_leave_and_has_taken_a_lost_ones_place_is_protected_again(
    world: World, controller: Start
) -> None:
    """A move's nodes don't join, and while Terraform's state is locked for its undoing a node is lost."""
    locked_until: list[float] = []

    def decide(given: DecisionInput) -> Decision:
        now = given.observations[-1]
        if given.history.moves or len(now.facts) < now.fleet.size:
            return Decision(now.at, "test", Verdict.STAY, now.fleet, now.fleet, Said("nothing to do"))
        world.never_joins = {"i-0004", "i-0005"}
        return Decision(now.at, "test", Verdict.MOVE, now.fleet, Fleet({"c5.large": 5}), Said("cheaper"))

    settings = {**SETTINGS, "fleet": {"initial": {"c5.large": 3}}, "limits": {"min_nodes": 2, "max_nodes": 8}}
    one = controller(decider=decide, settings=settings)
    call = world.call

    def call_while_locked(name: str, effect: Any, seconds: float = 0.0) -> Any:
        move = one.journal.move_under_way()
        if name == "plan" and move is not None and move.outcome_reason is not None:
            if not locked_until:
                locked_until.append(world.now + 40)
                world.never_joins = set()
                world.lose(next(node.instance_id for node in world.nodes if node.is_rank))
            if world.now < locked_until[0]:
                raise TerraformError("terraform plan failed: the state is locked", "Try again.")
        return call(name, effect, seconds)

    world.call = call_while_locked
    assert one.optimizer.run()["status"] == "finished"
    assert locked_until
