"""All states of small fleets, every action that may fail in each, and every single fault from each."""

from __future__ import annotations

from itertools import product

import pytest

from controller.domain import Fleet, LauncherState
from controller.domain.goal import Goal
from tests.unit.controller.act.reconcile.small_world import (
    FLAVORS,
    Node,
    State,
    View,
    Way,
    drops,
    faults,
    is_reached,
    passed,
    progressed,
    sort,
    views,
    ways_through,
)

MOST_PASSES = 14
"""Within how many undisturbed passes every goal is reached from everywhere."""
FLEETS = [Fleet(dict(zip(FLAVORS, counts, strict=True))) for counts in [(1, 0), (2, 0), (0, 1), (0, 2), (1, 1)]]
MIRRORED = {fleet: Fleet({"a": fleet.count("b"), "b": fleet.count("a")}) for fleet in FLEETS}
MOVES: list[tuple[Fleet, Fleet]] = []
for pair in product(FLEETS, FLEETS):
    if pair[0] != pair[1] and (MIRRORED[pair[0]], MIRRORED[pair[1]]) not in MOVES:
        MOVES.append(pair)

SMALL_MOVES = [(source, target) for source, target in MOVES if source.union(target).size <= 2]


def training(fleet: Fleet, goal: Goal) -> State:
    """Returns the state in which a fleet trains."""
    nodes = [Node(flavor, Way.TRAINS, is_member=True) for flavor, n in fleet.present.items() for _ in range(n)]
    return sort(State(goal, tuple(nodes), tuple(fleet.count(flavor) for flavor in FLAVORS)))


def starting(fleet: Fleet) -> State:
    """Returns the state in which Terraform has just asked for a fleet."""
    goal = Goal(fleet, way_back=True)
    return State(goal, (), tuple(fleet.count(flavor) for flavor in FLAVORS), launcher=LauncherState.ABSENT)


def successors(state: State, with_drops: bool = False) -> set[State]:
    """Returns every state that one pass, one failure in it, or one fault leads to, with and without progress."""
    after: set[State] = set()
    for view in views(state):
        after.update(ways_through(state, view))
    after |= {*faults(state), *(drops(state) if with_drops else ())}
    return after | {progressed(one) for one in after}


def all_states(first: State, most_nodes: int, with_drops: bool = False) -> set[State]:
    """Returns every state that any number of faults leads to, in any order."""
    found, todo = {first}, [first]
    while todo:
        for state in successors(todo.pop(), with_drops) - found:
            if len(state.nodes) <= most_nodes:
                found.add(state)
                todo.append(state)
    return found


def assert_reached_from_each(states: set[State]) -> None:
    """Asserts that undisturbed passes reach the goal from each of these states."""
    passes: dict[State, int] = {}
    for first in states:
        state, way = first, list[State]()
        while state not in passes and not is_reached(state):
            assert len(way) <= MOST_PASSES, f"{way[0]} has not reached its goal, but {state}"
            way.append(state)
            state = progressed(passed(state))
        reached = passes.get(state, 0)
        for place, earlier in enumerate(reversed(way), start=1):
            passes[earlier] = reached + place
    assert max(passes.values()) <= MOST_PASSES


@pytest.mark.parametrize(("source", "target"), MOVES, ids=lambda fleet: str(fleet))
def test_a_move_reaches_its_goal_from_every_state_with_any_faults_before(source: Fleet, target: Fleet) -> None:
    states = all_states(training(source, Goal(target, source, way_back=True)), source.union(target).size + 1)
    assert_reached_from_each(states)


@pytest.mark.parametrize(("source", "target"), SMALL_MOVES, ids=lambda fleet: str(fleet))
def test_no_invariant_breaks_when_nodes_are_taken_out_for_faults(source: Fleet, target: Fleet) -> None:
    """Each action checks the invariants. That the goal is reached needs the controller's patience, too."""
    first = training(source, Goal(target, source, way_back=True))
    assert len(all_states(first, source.union(target).size + 1, with_drops=True)) > 100


def noticed(state: State, taken: Fleet) -> State:
    """Returns the state after EC2 has said that it takes some nodes back."""
    left, nodes = dict(taken), list[Node]()
    for node in state.nodes:
        is_doomed = left.get(node.flavor, 0) > 0
        left[node.flavor] = left.get(node.flavor, 0) - 1
        nodes.append(node._replace(is_doomed=is_doomed))
    return sort(state._replace(nodes=tuple(nodes)))


REPLACED = [
    ({"a": 2}, {"a": 1}, {"a": 2}),
    ({"a": 2}, {"a": 1}, {"a": 1, "b": 1}),
    ({"a": 1}, {"a": 1}, {"a": 1}),
    ({"a": 1}, {"a": 1}, {"b": 1}),
    ({"a": 1, "b": 1}, {"a": 1}, {"b": 2}),
]


@pytest.mark.parametrize(("source", "taken", "target"), REPLACED, ids=lambda nodes: str(Fleet(nodes)))
def test_nodes_that_are_taken_back_are_replaced_from_every_state(
    source: dict[str, int], taken: dict[str, int], target: dict[str, int]
) -> None:
    goal = Goal(Fleet(target), Fleet(source), way_back=True, taken=Fleet(taken))
    first = noticed(training(goal.source, goal), goal.taken)
    states = all_states(first, goal.target.size + goal.taken.size)
    assert len(states) > 50
    assert_reached_from_each(states)


def test_the_group_of_a_node_that_has_left_does_not_replace_it() -> None:
    goal = Goal(Fleet({"a": 2}), Fleet({"a": 2}), way_back=True, taken=Fleet({"a": 1}))
    first = noticed(training(goal.source, goal), goal.taken)
    grown = progressed(passed(first))
    assert grown.desired == (3, 0)
    gone = [node._replace(way=Way.COLD) if node.is_doomed else node for node in grown.nodes]
    after = passed(sort(grown._replace(nodes=tuple(gone), is_settled=False)))
    assert after.desired == (2, 0), "the other node is there"
    assert [node.is_protected for node in after.nodes if node.is_doomed] == [False]


@pytest.mark.parametrize("fleet", FLEETS, ids=str)
def test_a_fleet_starts_from_every_state(fleet: Fleet) -> None:
    states = all_states(starting(fleet), fleet.size + 1)
    assert_reached_from_each(states)


@pytest.mark.parametrize("fleet", FLEETS, ids=str)
def test_everything_is_given_back_from_every_state(fleet: Fleet) -> None:
    assert_reached_from_each(all_states(training(fleet, Goal(Fleet({}))), fleet.size + 1))


def test_a_fleet_that_trains_needs_nothing() -> None:
    state = training(Fleet({"a": 2}), Goal(Fleet({"a": 2})))
    assert passed(state) == state
    assert passed(state, View(asks_groups=False)) == state
