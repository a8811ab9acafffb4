"""The next actions in states that a search of all states does not tell apart: it needs the end, not the way."""

from __future__ import annotations

from dataclasses import replace

from controller.act.reconcile.actions import (
    Awaited,
    Commit,
    Configure,
    LetGo,
    Reached,
    SetCapacity,
    SetHosts,
    StartTraining,
    StopTraining,
    Wait,
)
from controller.act.reconcile.next_actions import next_actions
from controller.act.reconcile.seen import Seen, SeenNode, Standing
from controller.domain import Fleet, LauncherState
from controller.domain.goal import Goal

ONE, TWO = Fleet({"a": 1}), Fleet({"a": 2})
GROWING = Goal(TWO, ONE, way_back=True)
RANK_0 = SeenNode("i-1", "a", Standing.TRAINS, is_member=True, rank=0)
RANK_1 = SeenNode("i-2", "a", Standing.TRAINS, is_member=True, rank=1)


def stranger(standing: Standing) -> SeenNode:
    return SeenNode("i-2", "a", standing)


def seen(
    *nodes: SeenNode, launcher: LauncherState | None = LauncherState.RUNNING, capacity: Fleet | None = TWO
) -> Seen:
    return Seen(nodes, launcher, sum(node.is_member for node in nodes), capacity)


def test_nothing_is_done_while_the_head_does_not_answer() -> None:
    assert next_actions(GROWING, seen(RANK_0, launcher=None)) == (Wait(Awaited.HEAD),)


def test_growing_never_asks_for_less_than_the_groups_are_set_to() -> None:
    assert next_actions(GROWING, seen(RANK_0, capacity=ONE)) == (SetCapacity(TWO),)
    more = seen(RANK_0, capacity=Fleet({"b": 1}))
    assert next_actions(GROWING, more) == (SetCapacity(Fleet({"a": 2, "b": 1})),)


def test_where_the_groups_were_not_asked_their_capacity_is_left_alone() -> None:
    assert next_actions(GROWING, seen(RANK_0, capacity=None)) == (Wait(Awaited.RUNNING, missing=ONE),)


def test_nodes_that_are_silent_or_warm_up_are_waited_for_before_anyone_joins() -> None:
    for standing in (Standing.SILENT, Standing.STARTING):
        assert next_actions(GROWING, seen(RANK_0, stranger(standing))) == (Wait(Awaited.READY, ("i-2",)),)


def test_a_cold_node_is_configured_and_then_joins() -> None:
    assert next_actions(GROWING, seen(RANK_0, stranger(Standing.COLD))) == (
        Configure(("i-2",)),
        SetHosts(("i-1", "i-2")),
    )
    assert next_actions(GROWING, seen(RANK_0, stranger(Standing.WARM))) == (SetHosts(("i-1", "i-2")),)


def test_a_fleet_that_starts_is_configured_with_its_head() -> None:
    starting = Goal(ONE, way_back=True)
    node = SeenNode("i-1", "a", Standing.COLD)
    assert next_actions(starting, seen(node, launcher=LauncherState.ABSENT, capacity=ONE)) == (
        Configure(("i-1",), with_head=True),
        SetHosts(("i-1",)),
        StartTraining(),
    )


def test_a_move_that_only_grows_is_reached_when_all_train_together() -> None:
    assert next_actions(GROWING, seen(RANK_0, RANK_1)) == (Reached(),)
    assert next_actions(GROWING, seen(RANK_0, RANK_1, capacity=None)) == (Reached(),)


def test_a_move_is_committed_without_anyone_who_leaves_where_only_the_capacity_is_too_large() -> None:
    grown = seen(RANK_0, RANK_1, capacity=Fleet({"a": 3}))
    assert next_actions(GROWING, grown) == (Commit(()),)


def test_a_move_is_committed_with_those_who_leave() -> None:
    new = SeenNode("i-3", "b", Standing.TRAINS, is_member=True, rank=2)
    union = seen(RANK_0, RANK_1, new, capacity=Fleet({"a": 2, "b": 1}))
    goal = Goal(Fleet({"b": 1}), TWO, way_back=True)
    assert next_actions(goal, union) == (Commit(("i-1", "i-2")), SetHosts(("i-3",)))


def test_a_rank_that_does_not_train_with_the_others_is_waited_for() -> None:
    late = SeenNode("i-2", "a", Standing.TRAINS_OTHERWISE, is_member=True, rank=1)
    assert next_actions(GROWING, seen(RANK_0, late)) == (Wait(Awaited.TRAINING, ("i-2",)),)


def test_where_no_node_is_left_the_target_is_waited_for() -> None:
    dead = seen(launcher=LauncherState.DEAD)
    assert next_actions(Goal(TWO), dead) == (Wait(Awaited.RUNNING, missing=TWO),)


def test_what_takes_no_part_is_let_go_before_the_capacity_is_lowered() -> None:
    assert next_actions(Goal(ONE), seen(RANK_0, stranger(Standing.COLD))) == (LetGo(("i-2",)), SetCapacity(ONE))
    ending = seen(RANK_0, stranger(Standing.COLD), capacity=ONE)
    assert next_actions(Goal(ONE), ending) == (LetGo(("i-2",)), Wait(Awaited.ENDING, ("i-2",)))


def test_nothing_is_given_back_before_the_ranks_that_stay_train_and_the_others_have_left() -> None:
    late = SeenNode("i-1", "a", Standing.TRAINS_OTHERWISE, is_member=True, rank=0)
    assert next_actions(Goal(ONE), seen(late, stranger(Standing.COLD))) == (Wait(Awaited.TRAINING, ("i-1",)),)
    leaving = seen(RANK_0, stranger(Standing.TRAINS_OTHERWISE))
    assert next_actions(Goal(ONE), leaving) == (Wait(Awaited.LEAVING, ("i-2",)),)


def test_of_the_nodes_that_ec2_takes_back_only_those_that_have_left_are_let_go_while_others_come() -> None:
    goal = Goal(TWO, TWO, way_back=True, taken=ONE)
    doomed, faulty = replace(RANK_0, is_doomed=True), replace(RANK_0, is_dropped=True)
    gone = SeenNode("i-3", "a", Standing.COLD, is_dropped=True, is_doomed=True)
    for nodes, let_go in [((doomed, RANK_1), ()), ((faulty, RANK_1), ()), ((doomed, RANK_1, gone), ("i-3",))]:
        actions = next_actions(goal, seen(*nodes, capacity=Fleet({"a": 9})))
        assert [action.nodes for action in actions if isinstance(action, LetGo)] == ([let_go] if let_go else [])
        assert isinstance(actions[-1], SetCapacity)


def test_where_the_groups_ask_for_more_than_there_is_only_the_capacity_is_lowered() -> None:
    assert next_actions(Goal(ONE), seen(RANK_0)) == (SetCapacity(ONE),)


def test_giving_back_stops_a_training_that_runs_and_no_other() -> None:
    nothing = Goal(Fleet({}))
    release = (LetGo(("i-1",)), SetCapacity(Fleet({})))
    assert next_actions(nothing, seen(RANK_0)) == (StopTraining(), *release)
    for launcher in (LauncherState.ABSENT, LauncherState.DEAD, LauncherState.ENDED, None):
        assert next_actions(nothing, seen(RANK_0, launcher=launcher)) == release


def test_a_wait_says_what_it_is_for() -> None:
    assert str(Wait(Awaited.HEAD)) == "waiting for the head to answer"
    assert str(Wait(Awaited.READY, ("i-1", "i-2"))) == "waiting for nodes to answer: i-1, i-2"
    assert str(Wait(Awaited.RUNNING, missing=TWO)) == f"waiting for nodes to run: {TWO}"
