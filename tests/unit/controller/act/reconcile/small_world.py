"""A fleet that is small enough to visit all of its states: two flavors, and a few nodes.

A state says of each node how far it is, whether the hosts file names it and whether it is protected from scale-in; and
what the groups are set to, whether the launcher runs, and whether the ranks train in the world of the hosts file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from controller.act.reconcile.actions import (
    Action,
    Commit,
    Configure,
    LetGo,
    Reached,
    SetCapacity,
    SetHosts,
    StartTraining,
    StopTraining,
)
from controller.act.reconcile.next_actions import next_actions
from controller.act.reconcile.seen import Seen, SeenNode, Standing
from controller.domain import Fleet, LauncherState
from controller.domain.goal import Goal

FLAVORS = ("a", "b")


class Way(int, Enum):
    """How far a node is on its way into the training."""

    PENDING = 0
    COLD = 1
    WARM = 2
    TRAINS = 3

    __hash__ = int.__hash__


class Node(NamedTuple):
    """A node. It is a tuple, as states are, since hundreds of thousands of them are compared and hashed."""

    flavor: str
    way: Way = Way.COLD
    is_member: bool = False
    is_protected: bool = True
    is_dropped: bool = False
    is_doomed: bool = False
    """Whether EC2 has said that it takes the node back."""

    @property
    def has_left_for_good(self) -> bool:
        """Whether EC2 takes it back and its rank has left."""
        return self.is_doomed and (self.way is Way.COLD or (self.way is Way.WARM and not self.is_member))


class State(NamedTuple):
    """A state of the world. Nodes are sorted, so that states that differ only in names are one."""

    goal: Goal
    nodes: tuple[Node, ...]
    desired: tuple[int, ...]
    ghosts: int = 0
    """How many nodes that are gone the hosts file still names; 1 stands for any number."""
    launcher: LauncherState = LauncherState.RUNNING
    is_settled: bool = True
    """Whether the ranks have taken the hosts file up."""


class BrokenInvariantError(AssertionError):
    """An action did what must never be done."""


@dataclass(frozen=True)
class View:
    """How one pass sees the world: what does not answer, and whether the hosts file is old."""

    silent: int | None = None
    is_head_silent: bool = False
    is_old: bool = False
    asks_groups: bool = True


def seen(state: State, view: View) -> Seen:
    """Returns what a pass sees. A node's id is its place among the nodes."""
    members = [node for node in state.nodes if node.is_member]
    are_together = state.is_settled and not state.ghosts and all(node.way is Way.TRAINS for node in members)
    nodes = tuple(
        SeenNode(
            str(place),
            node.flavor,
            Standing.SILENT if view.silent == place and node.way is not Way.PENDING else _standing(node, are_together),
            is_member=node.is_member and not view.is_head_silent,
            is_dropped=node.is_dropped or node.has_left_for_good,
            is_doomed=node.is_doomed,
            rank=place,
        )
        for place, node in enumerate(state.nodes)
    )
    return Seen(
        nodes,
        None if view.is_head_silent else state.launcher,
        0 if view.is_head_silent else len(members) + state.ghosts,
        Fleet(dict(zip(FLAVORS, state.desired, strict=True))) if view.asks_groups else None,
        view.is_old,
    )


def _standing(node: Node, are_together: bool) -> Standing:
    if node.way is Way.TRAINS:
        return Standing.TRAINS if are_together and node.is_member else Standing.TRAINS_OTHERWISE
    return {Way.PENDING: Standing.PENDING, Way.COLD: Standing.COLD, Way.WARM: Standing.WARM}[node.way]


def passed(state: State, view: View = View()) -> State:  # noqa: B008
    """Returns the state after one pass. Raises BrokenInvariantError if an action did what must never be done."""
    *_, last = ways_through(state, view)
    return last


def ways_through(state: State, view: View) -> Iterator[State]:
    """Yields the states after one pass in which the first action fails, the second one, and so on, and at last none.

    Raises:
        BrokenInvariantError: An action did what must never be done.
    """
    actions = next_actions(state.goal, seen(state, view))
    yield sort(state)
    for action in actions:
        state = done(state, action)
        yield sort(state)


def done(state: State, action: Action) -> State:  # noqa: PLR0911
    """Returns the state after an action."""
    if isinstance(action, SetCapacity):
        return _with_capacity(state, action.fleet)
    if isinstance(action, Configure):
        return _changed(state, action.nodes, lambda node: node._replace(way=max(node.way, Way.WARM)))
    if isinstance(action, SetHosts):
        return _with_hosts(state, {int(node) for node in action.nodes})
    if isinstance(action, LetGo):
        return _changed(state, action.nodes, lambda node: node._replace(is_protected=False))
    if isinstance(action, (Commit, Reached)):
        return state._replace(goal=Goal(state.goal.target))
    if isinstance(action, StartTraining):
        return state._replace(launcher=LauncherState.RUNNING)
    if isinstance(action, StopTraining):
        stopped = tuple(n._replace(way=min(n.way, Way.WARM)) for n in state.nodes)
        return state._replace(launcher=LauncherState.DEAD, nodes=stopped)
    return state


def _changed(state: State, names: Sequence[str], change) -> State:  # type: ignore[no-untyped-def]
    wanted = {int(name) for name in names}
    nodes = tuple(change(node) if place in wanted else node for place, node in enumerate(state.nodes))
    return state._replace(nodes=nodes)


def _with_capacity(state: State, fleet: Fleet) -> State:
    for flavor in FLAVORS:
        training = sum(n.flavor == flavor and n.way is Way.TRAINS for n in state.nodes)
        if state.goal.target.size and fleet.count(flavor) < training:
            raise BrokenInvariantError(f"the capacity of {flavor} is lowered under what trains: {state}")
    return state._replace(desired=tuple(fleet.count(flavor) for flavor in FLAVORS))


def _with_hosts(state: State, places: set[int]) -> State:
    is_held = any(node.way is Way.TRAINS and node.is_member for node in state.nodes)
    if is_held and not any(state.nodes[place].way is Way.TRAINS for place in places):
        raise BrokenInvariantError(f"the hosts file names no holder of the parameters: {state}")
    nodes = tuple(node._replace(is_member=place in places) for place, node in enumerate(state.nodes))
    return state._replace(nodes=nodes, ghosts=0, is_settled=False)


@lru_cache(maxsize=100_000)  # most states are reached in many ways
def progressed(state: State) -> State:
    """Returns the state after EC2 and the ranks have done what they were told."""
    return sort(_settled(_scaled(_reclaimed(state))))


def _reclaimed(state: State) -> State:
    """EC2 takes the nodes back that it has said so of, at the latest when nobody waits for their replacements."""
    if state.goal.taken.size:
        return state
    kept = tuple(node for node in state.nodes if not node.is_doomed)
    gone = sum(node.is_member for node in state.nodes) - sum(node.is_member for node in kept)
    return state._replace(nodes=kept, ghosts=min(1, state.ghosts + gone), is_settled=state.is_settled and not gone)


def _scaled(state: State) -> State:
    nodes: list[Node] = []
    for flavor, desired in zip(FLAVORS, state.desired, strict=True):
        own = [n for n in state.nodes if n.flavor == flavor and not _is_replaced(n)]
        for victim in [n for n in own if not n.is_protected][: max(0, len(own) - desired)]:
            if state.goal.target.size and victim.way is Way.TRAINS:
                raise BrokenInvariantError(f"an instance ends that trains: {state}")
            own.remove(victim)
        own = [n._replace(way=max(n.way, Way.COLD)) for n in own]
        nodes += own + [Node(flavor, Way.PENDING)] * (desired - len(own))
    gone = sum(n.is_member for n in state.nodes) - sum(n.is_member for n in nodes)
    return state._replace(nodes=tuple(nodes), ghosts=min(1, state.ghosts + gone))


def _is_replaced(node: Node) -> bool:
    """Returns whether a node that was dropped has left the training, so that it is ended and another one launched."""
    return node.is_dropped and not node.is_member


def _settled(state: State) -> State:
    """The ranks take the hosts file up: members that are warm join, ranks that are not named any more leave."""
    if state.launcher is not LauncherState.RUNNING:
        return state._replace(nodes=tuple(n._replace(way=min(n.way, Way.WARM)) for n in state.nodes))
    joined = {Way.WARM: Way.TRAINS}
    left = {Way.TRAINS: Way.COLD}
    nodes = tuple(n._replace(way=(joined if n.is_member else left).get(n.way, n.way)) for n in state.nodes)
    return state._replace(nodes=nodes, is_settled=True)


def drops(state: State) -> Iterator[State]:
    """Yields the states after each node was taken out for a fault. One rank at least is well."""
    for place, node in enumerate(state.nodes):
        others = (*state.nodes[:place], *state.nodes[place + 1 :])
        is_well = any(other.way is Way.TRAINS and other.is_member and not other.is_dropped for other in others)
        if node.is_member and not node.is_dropped and is_well:
            yield sort(state._replace(nodes=(*others, node._replace(is_dropped=True))))


def faults(state: State) -> Iterator[State]:
    """Yields the states after each single thing that may go wrong by itself."""
    for place, node in enumerate(state.nodes):
        others = (*state.nodes[:place], *state.nodes[place + 1 :])
        ghosts = min(1, state.ghosts + node.is_member)
        yield sort(state._replace(nodes=others, ghosts=ghosts, is_settled=False))  # lost
        if node.is_doomed and node.way is Way.TRAINS:
            left = node._replace(way=Way.COLD)
            yield sort(state._replace(nodes=(*others, left), is_settled=False))  # in time before its end
        if node.way in (Way.WARM, Way.TRAINS):
            rebooted = node._replace(way=Way.COLD)
            yield sort(state._replace(nodes=(*others, rebooted), is_settled=False))
    if state.launcher is LauncherState.RUNNING:
        yield state._replace(launcher=LauncherState.DEAD)
    if state.goal.way_back and state.goal.source.size and not state.goal.taken.size:
        yield state._replace(goal=Goal(state.goal.source))  # the move is given up


def views(state: State) -> Iterator[View]:
    """Yields each way in which a pass may see the state.

    A node that was taken out and does not answer either is no holder that a pass could know of.
    """
    yield View()
    yield View(is_old=True)
    yield View(is_head_silent=True)
    for place, node in enumerate(state.nodes):
        if not node.is_dropped and not node.has_left_for_good:
            yield View(silent=place)


def sort(state: State) -> State:
    """Returns the state with its nodes in order."""
    nodes = tuple(sorted(state.nodes))
    return state if nodes == state.nodes else state._replace(nodes=nodes)


def is_reached(state: State) -> bool:
    """Returns whether all is as the goal wants it: the target trains together, and nothing else is paid."""
    target = state.goal.target
    fleet = Fleet.counted(node.flavor for node in state.nodes)
    if fleet != target or Fleet(dict(zip(FLAVORS, state.desired, strict=True))) != target:
        return False
    if any(node.is_doomed for node in state.nodes):
        return False
    return all(node.is_member and node.way is Way.TRAINS for node in state.nodes) and not (target.size and state.ghosts)
