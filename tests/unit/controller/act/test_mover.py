"""A move, phase by phase: what it asks for, what it waits for, how it fails, and how it goes on after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from controller.act.aside import Aside
from controller.act.mover import Mover
from controller.act.track import Track
from controller.domain import Fact, Fleet, Instance, Move, MovePhase, NoticeKind, Observation, TrainingState
from controller.domain.errors import (
    AnsibleError,
    AwsError,
    CapacityFileError,
    CentavoError,
    GuardError,
    StoppedError,
    TerraformError,
)
from controller.domain.reasons import Said
from controller.domain.reasons.moving import (
    ConfiguringFailed,
    DidNotJoin,
    NoAnswer,
    NoCapacity,
    NotRunning,
    RankFailed,
    TrainingEnded,
    TrainingEndedInShrinking,
)
from controller.domain.reasons.plans import PlanRefused
from controller.domain.reasons.spot import NodesTakenBack
from tests.unit.controller.act.desk import (
    GROWING,
    LIMITS,
    MOVE,
    NEW,
    OLD,
    SOURCE,
    TARGET,
    UNION,
    Desk,
    KilledError,
    kill_at,
    undone,
)
from tests.unit.controller.act.fleet_in_memory import BEGAN_AT, Cluster, pending, unreachable

# a move that succeeds


def test_a_move_grows_to_the_union_joins_and_shrinks_to_the_target(desk: Desk) -> None:
    ended = desk.run()
    assert (ended.phase, ended.outcome_reason, ended.ended_at) == (MovePhase.DONE, None, desk.clock.now())
    assert desk.cluster.capacities == [UNION, TARGET]
    assert desk.cluster.hosts_files == [OLD + NEW, NEW]
    assert desk.cluster.fleet == TARGET
    assert desk.phases() == [MovePhase.GROWING, MovePhase.JOINING, MovePhase.SHRINKING, MovePhase.DONE]
    assert (ended.grown, set(ended.drain)) == (NEW, set(OLD))


def test_the_new_nodes_are_prepared_before_they_join(desk: Desk) -> None:
    desk.run()
    assert desk.cluster.configured == [*OLD, *NEW]
    assert desk.cluster.calls.index("configure") < desk.cluster.calls.index("set_hosts")


def test_only_the_leaving_nodes_lose_their_protection_and_only_after_they_left_the_hosts_file(desk: Desk) -> None:
    desk.run()
    assert desk.cluster.unprotected == set(OLD)
    calls = desk.cluster.calls
    assert calls.index("lift_protection") > len(calls) - 1 - calls[::-1].index("set_hosts")


def test_a_move_that_only_shrinks_configures_nothing() -> None:
    desk = Desk(Fleet({"c5.large": 3}))
    ended = desk.run(replace(MOVE, source=Fleet({"c5.large": 3}), target=Fleet({"c5.large": 1})))
    assert ended.phase is MovePhase.DONE
    assert "configure" not in desk.cluster.calls
    assert desk.cluster.capacities == [Fleet({"c5.large": 1})]
    assert desk.cluster.hosts == ["i-1"], "the lowest rank stays"


def test_nodes_that_boot_slowly_are_waited_for(desk: Desk) -> None:
    boot_until(desk, BEGAN_AT + 20)
    assert desk.run().phase is MovePhase.DONE


def boot_until(desk: Desk, at: float) -> None:
    """Lets c5.large run only from a time on."""
    seen = desk.cluster.workers

    def workers() -> tuple[Instance, ...]:
        return tuple(pending(i) if i.flavor == "c5.large" and desk.clock.now() < at else i for i in seen())

    desk.cluster.workers = workers  # type: ignore[method-assign]


# growing fails


def test_capacity_that_ec2_does_not_have_is_given_up_at_once_and_blamed_on_its_flavor(desk: Desk) -> None:
    desk.cluster.max_running = {"c5.large": 1}
    desk.cluster.launch_errors = {"c5.large": "InsufficientInstanceCapacity", "t2.large": "an old failure"}
    reason = undone(desk)
    assert reason == NoCapacity({"c5.large": "InsufficientInstanceCapacity"})
    assert desk.unavailable == {"c5.large": reason}
    assert desk.clock.now() - BEGAN_AT < LIMITS.boot_s
    assert desk.cluster.capacities == [UNION, SOURCE]


def test_nodes_that_never_run_are_given_up_after_the_boot_limit(desk: Desk) -> None:
    desk.cluster.max_running = {"c5.large": 1}
    reason = undone(desk)
    assert reason == NotRunning(Fleet({"c5.large": 2}), LIMITS.boot_s)
    assert desk.unavailable == {"c5.large": reason}
    assert LIMITS.boot_s <= desk.clock.now() - BEGAN_AT < LIMITS.boot_s + 5


def test_instances_that_are_only_pending_do_not_count_as_running(desk: Desk) -> None:
    boot_until(desk, BEGAN_AT + LIMITS.boot_s + 5)
    assert undone(desk) == NotRunning(Fleet({"c5.large": 3}), LIMITS.boot_s)


def test_nodes_that_never_answer_are_given_up_after_the_boot_limit(desk: Desk) -> None:
    desk.cluster.mute = {"c5.large": "connection refused"}
    reason = undone(desk)
    assert reason == NoAnswer(dict.fromkeys(NEW, "connection refused"), LIMITS.boot_s)
    assert desk.unavailable == {"c5.large": reason}
    assert "configure" not in desk.cluster.calls


def test_nodes_that_can_not_be_configured_are_given_back_and_their_flavors_blamed(desk: Desk) -> None:
    error = AnsibleError("site.yml failed")
    desk.cluster.errors["configure"] = [error, error]
    assert undone(desk) == error.reason
    assert desk.errors == [error], "it was tried twice"
    assert desk.unavailable == {"c5.large": error.reason}
    assert set(desk.cluster.hosts_files) <= {OLD}, "the training was never disturbed"


@pytest.mark.parametrize(
    "error",
    [GuardError("more than capacities", reason=PlanRefused(())), CapacityFileError("changed by someone else")],
)
def test_a_plan_or_file_that_is_refused_changes_nothing_and_blames_nobody(desk: Desk, error: CentavoError) -> None:
    desk.cluster.errors["set_capacity"] = [error]
    ended = desk.run()
    assert (ended.phase, ended.outcome_reason) == (MovePhase.REFUSED, error.reason)
    assert desk.cluster.capacities == [] and desk.unavailable == {}


def test_a_guard_that_refuses_after_nodes_were_added_undoes_the_move(desk: Desk) -> None:
    desk.cluster.set_capacity(Fleet({"t2.large": 2, "c5.large": 1}))
    desk.cluster.errors["set_capacity"] = [GuardError("more than capacities")]
    assert undone(desk, GROWING) == Said("more than capacities")


@pytest.mark.parametrize(("error", "blames"), [(TerraformError("apply failed"), True), (AwsError("no route"), False)])
def test_a_failing_edge_undoes_the_growing(desk: Desk, error: CentavoError, blames: bool) -> None:
    desk.cluster.errors["set_capacity"] = [error] * (60 if isinstance(error, AwsError) else 2)
    boot_s = LIMITS.boot_s if isinstance(error, AwsError) else 0.0
    ended = desk.run()
    assert (ended.phase, ended.outcome_reason) == (MovePhase.ROLLED_BACK, error.reason)
    assert desk.clock.now() >= BEGAN_AT + boot_s
    assert ("c5.large" in desk.unavailable) is blames


def test_a_cloud_that_does_not_answer_for_a_moment_is_no_missing_node(desk: Desk) -> None:
    desk.cluster.errors["workers"] = [unreachable(), unreachable()]
    assert desk.run().phase is MovePhase.DONE


def test_a_cloud_that_does_not_answer_until_the_boot_limit_is_no_flavors_fault(desk: Desk) -> None:
    desk.cluster.errors["desired"] = [unreachable() for _ in range(60)]
    ended = desk.run()
    assert (ended.phase, ended.outcome_reason) == (MovePhase.ROLLED_BACK, unreachable().reason)
    assert desk.unavailable == {}
    turned_at = BEGAN_AT + LIMITS.boot_s
    assert ended.ended_at is not None and ended.ended_at >= turned_at


def test_a_head_that_does_not_answer_until_the_boot_limit_is_no_flavors_fault(desk: Desk) -> None:
    seen = desk.cluster.observe

    def observe() -> Observation:
        observation = seen()
        return replace(observation, head=None) if desk.clock.now() < BEGAN_AT + 40 else observation

    desk.cluster.observe = observe  # type: ignore[method-assign]
    ended = desk.run()
    assert (ended.phase, ended.outcome_reason) == (
        MovePhase.ROLLED_BACK,
        NoAnswer({"the head": "no answer"}, LIMITS.boot_s),
    )
    assert desk.unavailable == {} and desk.cluster.fleet == SOURCE


# joining fails


def test_ranks_that_never_join_are_given_back(desk: Desk) -> None:
    desk.cluster.fact_of = lambda cluster, i, fact: None if i.instance_id in NEW else fact
    reason = undone(desk)
    assert reason == DidNotJoin(dict.fromkeys(NEW, "c5.large"), 5, LIMITS.join_s)
    assert desk.unavailable == {"c5.large": reason}
    assert desk.cluster.capacities == [UNION, SOURCE]
    assert desk.cluster.hosts_files == [OLD + NEW, OLD]


def test_a_rank_that_trains_in_another_world_size_has_not_joined(desk: Desk) -> None:
    """A new rank may train among the new ones only, while the old ones train on without them."""
    desk.cluster.fact_of = lambda cluster, i, fact: (
        replace(fact, world_size=2 if i.instance_id in OLD else 3) if set(NEW) <= set(cluster.hosts) else fact
    )
    assert isinstance(undone(desk), DidNotJoin)


@pytest.mark.parametrize("state", [s for s in TrainingState if s not in (TrainingState.TRAINING, TrainingState.FAILED)])
def test_a_rank_in_any_other_state_than_training_has_not_joined(desk: Desk, state: TrainingState) -> None:
    desk.cluster.fact_of = lambda cluster, i, fact: replace(fact, state=state) if i.instance_id == "i-3" else fact
    assert undone(desk) == DidNotJoin({"i-3": "c5.large"}, 5, LIMITS.join_s)


def test_a_fact_that_was_written_before_the_hosts_file_is_no_sign_of_joining(desk: Desk) -> None:
    """A node that took part before has a fact of then, in which it trains in a world of the same size."""
    written_at = BEGAN_AT - 1.0

    def old_fact(cluster: Cluster, instance: Instance, fact: Fact) -> Fact:
        return replace(fact, updated_at=written_at) if instance.instance_id in NEW else fact

    desk.cluster.fact_of = old_fact
    assert undone(desk) == DidNotJoin(dict.fromkeys(NEW, "c5.large"), 5, LIMITS.join_s)


def test_a_fact_of_the_old_world_is_no_sign_of_joining_even_if_its_size_is_right(desk: Desk) -> None:
    """Nodes are swapped one for one: every rank trained in a world of this size before."""
    desk.cluster.fact_of = lambda cluster, i, fact: replace(
        fact, updated_at=(cluster.hosts_written_at or 0.0) - 0.5, world_size=len(cluster.hosts)
    )
    assert isinstance(desk.run(passes=60).outcome_reason, DidNotJoin)


def test_a_fact_that_was_written_with_the_hosts_file_counts(desk: Desk) -> None:
    desk.cluster.fact_of = lambda cluster, i, fact: replace(fact, updated_at=cluster.hosts_written_at or BEGAN_AT)
    assert desk.run().phase is MovePhase.DONE, "a fact of the same moment is not older"


def test_a_rank_that_says_that_it_failed_is_not_waited_for(desk: Desk) -> None:
    def failing(cluster: Cluster, instance: Instance, fact: Fact) -> Fact:
        is_it = instance.instance_id == "i-4"
        return replace(fact, state=TrainingState.FAILED, reason="out of memory") if is_it else fact

    desk.cluster.fact_of = failing
    reason = undone(desk)
    assert reason == RankFailed("i-4", "c5.large", "out of memory")
    assert desk.unavailable == {"c5.large": reason}
    assert desk.clock.now() - BEGAN_AT < LIMITS.join_s


def test_a_new_node_that_is_lost_before_it_joins_is_waited_for_again(desk: Desk) -> None:
    desk.cluster.set_capacity(UNION)
    desk.cluster.lose("i-4")
    ended = desk.run(replace(MOVE, phase=MovePhase.JOINING, grown=NEW))
    assert ended.outcome_reason == NotRunning(Fleet({"c5.large": 1}), LIMITS.boot_s), "nobody replaces it here"


def test_a_new_node_that_its_group_replaces_keeps_the_move_going(desk: Desk) -> None:
    desk.cluster.set_capacity(UNION)
    desk.cluster.lose("i-4")
    desk.cluster._scale(UNION)
    assert desk.run(GROWING).phase is MovePhase.DONE
    assert set(desk.cluster.hosts) == {"i-3", "i-5", "i-6"}


# shrinking fails


def at_shrinking(desk: Desk) -> Move:
    """Puts the cluster where a move has grown, joined, and is about to shrink, and returns that move."""
    desk.cluster.set_capacity(UNION)
    desk.cluster.hosts = [*OLD, *NEW]
    desk.cluster.capacities.clear()
    return replace(MOVE, phase=MovePhase.SHRINKING, grown=NEW, drain=OLD)


def test_survivors_that_go_on_late_keep_the_drained_nodes_only_for_as_long(desk: Desk) -> None:
    """After the first node was let go there is only forward: the drained workers have ended."""
    late = BEGAN_AT + 6.0
    desk.cluster.fact_of = lambda cluster, i, fact: (
        None if set(cluster.hosts) == set(NEW) and desk.clock.now() < late else fact
    )
    ended = desk.run(at_shrinking(desk))
    assert (ended.phase, ended.outcome_reason) == (MovePhase.DONE, None)
    assert desk.cluster.hosts_files == [NEW] and desk.cluster.capacities == [TARGET]
    assert late <= ended.ended_at <= late + 5  # type: ignore[operator]


def test_one_survivor_that_never_goes_on_holds_nothing_up_for_longer_than_the_drain_limit(desk: Desk) -> None:
    desk.cluster.fact_of = lambda cluster, i, fact: None if i.instance_id == "i-4" else fact
    ended = desk.run(at_shrinking(desk))
    assert ended.phase is MovePhase.DONE
    assert BEGAN_AT + LIMITS.drain_s <= ended.ended_at <= BEGAN_AT + LIMITS.drain_s + 5  # type: ignore[operator]
    assert desk.cluster.fleet == TARGET


def test_nothing_is_given_back_while_no_survivor_trains(desk: Desk) -> None:
    desk.cluster.fact_of = lambda cluster, i, fact: None if set(cluster.hosts) == set(NEW) else fact
    assert desk.run(at_shrinking(desk), passes=100).phase is MovePhase.SHRINKING
    assert desk.cluster.capacities == [] and desk.cluster.unprotected == set()


@pytest.mark.parametrize("call", ["set_hosts", "set_capacity", "lift_protection", "desired"])
@pytest.mark.parametrize("error", [TerraformError("locked"), GuardError("more"), AnsibleError("no route")])
def test_an_action_that_fails_while_nodes_leave_is_tried_again(desk: Desk, call: str, error: CentavoError) -> None:
    move = at_shrinking(desk)
    desk.cluster.errors[call] = [error, error, error]
    ended = desk.run(move)
    assert (ended.phase, ended.outcome_reason) == (MovePhase.DONE, None)
    assert desk.errors == [error, error, error]
    assert desk.cluster.fleet == TARGET


def test_a_survivor_that_is_lost_while_the_others_leave_does_not_bring_them_back(desk: Desk) -> None:
    move = at_shrinking(desk)
    desk.run(move, passes=1)
    desk.cluster.lose("i-4")
    ended = desk.run(move)
    assert (ended.phase, ended.outcome_reason) == (MovePhase.DONE, None)
    assert desk.cluster.capacities == [TARGET]
    assert {"i-3", "i-5"} <= set(desk.cluster.hosts) and not {*desk.cluster.hosts} & {*OLD}


def test_a_target_that_is_lost_as_a_whole_turns_the_move_round(desk: Desk) -> None:
    move = at_shrinking(desk)
    for node in NEW:
        desk.cluster.lose(node)
    desk.cluster.max_running = {"c5.large": 0}
    ended = desk.run(move)
    assert (ended.phase, ended.outcome_reason) == (MovePhase.ROLLED_BACK, NotRunning(TARGET, LIMITS.boot_s))
    assert desk.cluster.fleet == SOURCE and set(desk.cluster.hosts) == set(OLD)


def test_a_source_that_is_lost_while_a_move_is_undone_turns_it_round_again(desk: Desk) -> None:
    move = replace(at_shrinking(desk), phase=MovePhase.JOINING, outcome_reason=Said("too late"))
    for node in OLD:
        desk.cluster.lose(node)
    desk.cluster.max_running = {"t2.large": 0}
    ended = desk.run(move)
    assert (ended.phase, ended.outcome_reason) == (MovePhase.DONE, None)
    assert desk.cluster.fleet == TARGET and set(desk.cluster.hosts) == set(NEW)


# going back fails


def test_a_way_back_that_is_blocked_is_tried_again(desk: Desk) -> None:
    desk.cluster.mute = {"c5.large": "connection refused"}
    desk.cluster.errors["lift_protection"] = [AwsError("no route"), AwsError("no route")]
    assert undone(desk) == NoAnswer(dict.fromkeys(NEW, "connection refused"), LIMITS.boot_s)
    assert len(desk.errors) == 2


# the training ends meanwhile


def test_a_move_that_the_trainings_end_overtakes_is_undone_without_a_trace(desk: Desk) -> None:
    desk.cluster.max_running = {"c5.large": 0}
    desk.cluster.ends_at_step = 3
    ended = desk.run()
    assert (ended.phase, ended.outcome_reason) == (MovePhase.ROLLED_BACK, TrainingEnded())
    assert desk.unavailable == {}


def test_a_move_that_is_being_undone_keeps_its_reason_when_the_training_ends(desk: Desk) -> None:
    desk.cluster.ends_at_step = 1
    why = Said("no capacity")
    ended = desk.run(replace(MOVE, phase=MovePhase.JOINING, outcome_reason=why))
    assert (ended.phase, ended.outcome_reason) == (MovePhase.ROLLED_BACK, why)


def test_a_move_that_shrinks_counts_as_done_when_the_training_ends(desk: Desk) -> None:
    move = at_shrinking(desk)
    desk.cluster.ends_at_step = 1
    ended = desk.run(move)
    assert (ended.phase, ended.outcome_reason) == (MovePhase.DONE, TrainingEndedInShrinking())


# when it turns, and what people are told


def test_people_are_told_each_step_of_a_move_once(desk: Desk) -> None:
    boot_until(desk, BEGAN_AT + 20)
    desk.run()
    assert desk.told == [
        f"1: capacity {SOURCE} -> {UNION}",
        f"1: waiting for nodes to run: {TARGET}",
        "1: preparing 3 nodes",
        f"1: {TARGET} prepared in 0 s",
        "1: 3 new nodes join",
        "1: the hosts file names 5 nodes",
        f"1: 2 nodes leave: {SOURCE} -> {TARGET}",
        "1: the hosts file names 3 nodes",
        f"1: the fleet is {TARGET}",
    ]


def test_people_are_told_that_a_move_goes_on_after_all(desk: Desk) -> None:
    move = replace(at_shrinking(desk), phase=MovePhase.JOINING, outcome_reason=Said("too late"))
    for node in OLD:
        desk.cluster.lose(node)
    desk.cluster.max_running = {"t2.large": 0}
    desk.run(move)
    assert f"1: going on to {TARGET} after all" in desk.told


def test_a_move_whose_target_is_lost_is_turned_round_after_the_boot_limit(desk: Desk) -> None:
    move = at_shrinking(desk)
    for node in NEW:
        desk.cluster.lose(node)
    desk.cluster.max_running = {"c5.large": 0}
    began = desk.clock.at
    desk.run(move)
    assert desk.turned_at == [began + 1 + LIMITS.boot_s], "the first pass takes the lost nodes out of the hosts file"


def test_a_cloud_that_does_not_answer_is_waited_for_until_the_boot_limit_and_no_longer(desk: Desk) -> None:
    desk.cluster.errors["desired"] = [unreachable() for _ in range(60)]
    desk.run()
    assert desk.turned_at[0] == BEGAN_AT + LIMITS.boot_s


def test_ranks_have_their_time_from_when_the_hosts_file_was_written(desk: Desk) -> None:
    boot_until(desk, BEGAN_AT + 20)
    desk.cluster.fact_of = lambda cluster, i, fact: None if i.instance_id in NEW else fact
    desk.run()
    assert desk.turned_at == [BEGAN_AT + 20 + LIMITS.join_s]


def test_failures_with_a_success_in_between_undo_no_move(desk: Desk) -> None:
    desk.cluster.errors["set_capacity"] = [TerraformError("locked")]
    desk.cluster.errors["configure"] = [AnsibleError("no route")]
    assert desk.run().phase is MovePhase.DONE
    assert [type(error) for error in desk.errors] == [TerraformError, AnsibleError]


def test_ec2_is_asked_only_for_failures_since_the_move_began_and_only_where_nodes_are_missing(desk: Desk) -> None:
    asked: list[tuple[tuple[str, ...], float]] = []

    def launch_failures(flavors: Iterable[str], since: float) -> dict[str, str]:
        asked.append((tuple(flavors), since))
        return {}

    desk.cluster.launch_failures = launch_failures  # type: ignore[method-assign]
    desk.cluster.fact_of = lambda cluster, i, fact: None if i.instance_id in NEW else fact
    boot_until(desk, BEGAN_AT + 5)
    desk.run(replace(MOVE, at=BEGAN_AT - 2))
    assert set(asked) == {(("c5.large",), BEGAN_AT - 2)}


def test_nodes_are_configured_within_their_time(desk: Desk) -> None:
    limits: list[float] = []
    configure = desk.cluster.configure

    def noted(instances: Sequence[Instance], timeout_s: float, *, with_head: bool = False) -> None:
        limits.append(timeout_s)
        configure(instances, timeout_s, with_head=with_head)

    desk.cluster.configure = noted  # type: ignore[method-assign]
    desk.run()
    assert limits == [LIMITS.configure_s]


# nodes that are out of the question


def test_a_node_that_was_taken_out_for_a_fault_joins_no_more(desk: Desk) -> None:
    desk.cluster.set_capacity(UNION)
    desk.dropped = {"i-3"}
    desk.run(GROWING, passes=3)
    assert "i-3" not in desk.cluster.configured


def tries_to_configure(desk: Desk, error: AnsibleError, passes: int) -> int:
    """Shrinks with a survivor that has to be configured and can't be. Returns how often it was tried."""
    move = at_shrinking(desk)
    desk.cluster.configured += ("i-3", "i-5")
    desk.cluster.errors["configure"] = [error] * 100
    desk.run(move, passes=passes)
    return desk.cluster.calls.count("configure")


def test_a_survivor_that_can_not_be_configured_is_left_alone_for_longer_and_longer(desk: Desk) -> None:
    error = AnsibleError("site.yml failed", hosts={"i-4": "no room"}, reason=ConfiguringFailed(Said("no room")))
    assert tries_to_configure(desk, error, passes=6) == 2, "after 0 s and 5 s"


def test_what_a_node_said_that_is_left_alone_is_kept(desk: Desk) -> None:
    aside = Aside(desk.clock, 5.0)
    track = Track(desk.clock, desk.saved.append, lambda move, note: None)
    mover = Mover(desk.cluster, desk.clock, LIMITS, track, lambda flavors, reason: None, aside)
    reason = ConfiguringFailed(Said("no room"))
    desk.cluster.errors["configure"] = [AnsibleError("failed", hosts={"i-4": "no room"}, reason=reason)]
    with pytest.raises(AnsibleError):
        mover.go_on(at_shrinking(desk), desk.cluster.observe())
    assert aside.now() == {"i-4": "no room"}


def test_a_playbook_that_failed_for_another_reason_sets_no_node_aside(desk: Desk) -> None:
    error = AnsibleError("no route", hosts={"i-4": "no route"})
    assert tries_to_configure(desk, error, passes=6) == 6


def test_while_a_move_can_be_undone_no_node_is_left_alone(desk: Desk) -> None:
    """A move that can be undone gives up what it can't configure, and so has nothing to leave alone."""
    moves = Move(1, BEGAN_AT, SOURCE, TARGET, Said("cheaper"), MovePhase.GROWING)
    aside = Aside(desk.clock, 5.0)
    aside.put(NEW, "no room")
    track = Track(desk.clock, desk.saved.append, lambda move, note: None)
    mover = Mover(desk.cluster, desk.clock, LIMITS, track, lambda flavors, reason: None, aside)
    desk.cluster.set_capacity(UNION)
    mover.go_on(moves, desk.cluster.observe())
    assert desk.cluster.configured == [*OLD, *NEW]


# nodes that EC2 takes back


ONE_OLD = Fleet({"t2.large": 1})
REPLACING = replace(MOVE, target=SOURCE, reason=NodesTakenBack(ONE_OLD, replaced_by=ONE_OLD, lost_before=0))


def test_the_node_that_ec2_takes_back_trains_until_the_one_in_its_place_does(desk: Desk) -> None:
    desk.noticed = {"i-1": NoticeKind.INTERRUPTION}
    ended = desk.run(REPLACING)
    assert (ended.phase, ended.outcome_reason) == (MovePhase.DONE, None)
    assert desk.cluster.capacities == [Fleet({"t2.large": 3}), SOURCE]
    assert list(map(set, desk.cluster.hosts_files)) == [{"i-1", "i-2", "i-3"}, {"i-2", "i-3"}]


def test_a_move_that_began_before_ec2_takes_one_of_its_nodes_back_goes_on_with_that_node(desk: Desk) -> None:
    desk.noticed = {"i-3": NoticeKind.REBALANCE}
    assert desk.run().phase is MovePhase.DONE
    assert desk.cluster.capacities == [UNION, TARGET]
    assert desk.cluster.hosts_files == [OLD + NEW, NEW]


def test_where_a_surplus_leaves_the_node_that_ec2_takes_back_leaves_first(desk: Desk) -> None:
    desk.noticed = {"i-1": NoticeKind.REBALANCE}
    move = replace(at_shrinking(desk), target=Fleet({"t2.large": 1, "c5.large": 3}), drain=())
    assert desk.run(move).phase is MovePhase.DONE
    assert set(desk.cluster.hosts) == {"i-2", *NEW}


def test_a_replacement_that_can_not_be_prepared_is_given_up_at_once_and_nothing_is_undone(desk: Desk) -> None:
    desk.noticed = {"i-1": NoticeKind.INTERRUPTION}
    error = AnsibleError("site.yml failed")
    desk.cluster.errors["configure"] = [error, error]
    ended = desk.run(REPLACING)
    assert (ended.phase, ended.outcome_reason, ended.ended_at) == (
        MovePhase.ROLLED_BACK,
        error.reason,
        desk.clock.now(),
    )
    assert desk.saved[-1] == ended and desk.saved[-2].outcome_reason is None
    assert desk.cluster.capacities == [Fleet({"t2.large": 3})], "another move follows, and finds the new node"
    assert desk.told[-1] == "1: site.yml failed"


def test_replacements_that_are_lost_while_nodes_leave_are_given_up_after_the_boot_limit(desk: Desk) -> None:
    desk.noticed = dict.fromkeys(OLD, NoticeKind.REBALANCE)
    move = replace(at_shrinking(desk), reason=NodesTakenBack(SOURCE, replaced_by=TARGET, lost_before=0))
    for node in NEW:
        desk.cluster.lose(node)
    ended = desk.run(move)
    assert (ended.phase, ended.outcome_reason) == (MovePhase.ROLLED_BACK, NotRunning(TARGET, LIMITS.boot_s))
    assert desk.saved == [ended] and set(desk.cluster.hosts) == set(OLD)


# a controller that was stopped or killed goes on


def test_a_move_goes_on_after_a_kill_before_any_of_its_calls_and_asks_for_nothing_else() -> None:
    desk = Desk()
    desk.run()
    calls = len(desk.cluster.calls)
    assert calls > 10
    for number in range(calls):
        desk = Desk()
        kill_at(desk, number)
        with pytest.raises(KilledError):
            desk.run()
        ended = desk.run(desk.saved[-1] if desk.saved else MOVE)
        assert ended.phase is MovePhase.DONE, f"killed before call {number}"
        assert desk.cluster.fleet == TARGET
        assert list(dict.fromkeys(desk.cluster.capacities)) == [UNION, TARGET], f"killed before call {number}"


def test_a_way_back_goes_on_after_a_kill_before_any_of_its_calls() -> None:
    for number in range(200):
        desk = Desk()
        desk.cluster.fact_of = lambda cluster, i, fact: None if i.instance_id in NEW else fact
        kill_at(desk, number)
        try:
            ended = desk.run()
        except KilledError:
            ended = desk.run(desk.saved[-1] if desk.saved else MOVE)
        else:
            assert number > 10
            return
        assert ended.phase is MovePhase.ROLLED_BACK, f"killed before call {number}"
        assert desk.cluster.fleet == SOURCE and set(desk.cluster.hosts) == set(OLD)
    pytest.fail("the move made more calls than were tried")


@pytest.mark.parametrize("phase", [MovePhase.PROPOSED, MovePhase.GROWING])
def test_an_early_phase_is_resumed_where_nothing_was_done_yet(desk: Desk, phase: MovePhase) -> None:
    assert desk.run(replace(MOVE, phase=phase)).phase is MovePhase.DONE
    assert desk.cluster.capacities == [UNION, TARGET]


def test_joining_is_resumed_without_asking_for_capacity_again(desk: Desk) -> None:
    desk.cluster.set_capacity(UNION)
    desk.cluster.configured += NEW
    desk.cluster.capacities.clear()
    assert desk.run(replace(MOVE, phase=MovePhase.JOINING, grown=NEW)).phase is MovePhase.DONE
    assert desk.cluster.capacities == [TARGET]
    assert "configure" not in desk.cluster.calls


def test_shrinking_is_resumed_with_the_nodes_that_were_chosen_to_leave(desk: Desk) -> None:
    move = replace(at_shrinking(desk), target=Fleet({"t2.large": 1, "c5.large": 3}), drain=("i-1",))
    assert desk.run(move).phase is MovePhase.DONE
    assert set(desk.cluster.hosts) == {"i-2", *NEW}
    assert desk.cluster.capacities == [Fleet({"t2.large": 1, "c5.large": 3})]


@pytest.mark.parametrize("phase", [MovePhase.GROWING, MovePhase.JOINING, MovePhase.SHRINKING])
def test_a_way_back_is_resumed_in_each_phase(desk: Desk, phase: MovePhase) -> None:
    move = replace(at_shrinking(desk), phase=phase, outcome_reason=Said("it failed"))
    if phase is MovePhase.GROWING:
        desk.cluster.hosts = [*OLD]
    assert undone(desk, move) == Said("it failed")


def test_a_person_who_stops_the_controller_leaves_the_move_as_it_is(desk: Desk) -> None:
    desk.cluster.errors["configure"] = [StoppedError("Stopped.")]  # a StoppedError is no failure of the move
    with pytest.raises(StoppedError):
        desk.run()
    assert desk.saved[-1].phase is MovePhase.GROWING and desk.saved[-1].outcome_reason is None
    assert desk.run(desk.saved[-1]).phase is MovePhase.DONE
