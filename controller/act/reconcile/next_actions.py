"""The next actions: a pure function of the goal and of what is seen now.

Starting a fleet, replacing a lost node, a move, its undoing, and giving everything back are one function with different
goals:

- A goal with a way back grows. The source trains on, and the target's nodes join it once all of them are warm. When all
  train together, the goal is committed.
- A goal without a way back goes forward. Members beyond the target leave the hosts file, nodes that are missing come
  in, and what takes no part is given back once the members train without it.
- A goal of no nodes gives everything back.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.act.reconcile.actions import (
    Action,
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
from controller.act.reconcile.membership import leaving, newcomers, rescued, staying
from controller.act.reconcile.seen import Seen, SeenNode, Standing, fleet_of, ids_of
from controller.domain import NO_NODES, Fleet, LauncherState
from controller.domain.goal import Goal

_NO_LAUNCHER = (LauncherState.ABSENT, LauncherState.DEAD)


def next_actions(goal: Goal, seen: Seen) -> tuple[Action, ...]:
    """Returns what to do next, in this order. An action is done only if those before it succeeded."""
    if not goal.target.size:
        return _give_back(seen)
    if seen.launcher is None:
        return (Wait(Awaited.HEAD),)
    return _grow(goal, seen) if goal.way_back else _go_forward(goal.target, seen)


def _grow(goal: Goal, seen: Seen) -> tuple[Action, ...]:
    """Returns how to get the target's nodes into the training, while the source trains on."""
    capacity = grown(goal, seen)
    if seen.capacity is not None and seen.capacity != capacity:
        gone = ids_of(node for node in seen.nodes if node.is_doomed and node.is_dropped)
        return (LetGo(gone), SetCapacity(capacity)) if gone else (SetCapacity(capacity),)
    kept = (*seen.members, *rescued(seen))
    if kept and not _is_hosts_file(kept, seen):
        return (SetHosts(ids_of(kept)),)
    coming = newcomers(goal.target, seen)
    together = tuple(dict.fromkeys((*kept, *coming)))
    missing = goal.target.beyond(fleet_of(n for n in together if n.standing.runs and not n.is_doomed))
    if missing.size:
        return (Wait(Awaited.RUNNING, missing=missing),)
    not_ready = _in(coming, Standing.SILENT, Standing.STARTING)
    if not_ready:
        return (Wait(Awaited.READY, ids_of(not_ready)),)
    joining = _let_in(seen, together, _in(together, Standing.COLD))
    if joining or not goal.source.size:
        return joining or (Reached(),)
    return _commit(goal.target, seen)


def grown(goal: Goal, seen: Seen) -> Fleet:
    """Returns the capacity with which the target's nodes come in while the source trains on.

    A node that EC2 takes back has a place in its group until its rank has left and the others of its group are there.
    From then on the group is not to replace it.
    """
    if not goal.taken.size:
        return goal.source.union(goal.target).union(seen.capacity or NO_NODES)
    lasting = [node for node in seen.nodes if not node.is_doomed]
    training = fleet_of(node for node in lasting if node.standing.holds_state)
    wanted = goal.source.beyond(goal.taken).union(goal.target).union(training)
    lacking = wanted.beyond(fleet_of(lasting))
    doomed = [node for node in seen.nodes if node.is_doomed and (not node.is_dropped or lacking.count(node.flavor))]
    return wanted.plus(fleet_of(doomed))


def _commit(target: Fleet, seen: Seen) -> tuple[Action, ...]:
    """Returns how to let the surplus go once all members train together."""
    late = [node for node in seen.members if node.standing is not Standing.TRAINS]
    if late:
        return (Wait(Awaited.TRAINING, ids_of(late)),)
    stay = staying(target, seen)
    surplus = ids_of(node for node in seen.members if node not in stay)
    if surplus:
        return (Commit(surplus), SetHosts(ids_of(stay)))
    return (Reached(),) if seen.capacity in (None, target) else (Commit(()),)


def _go_forward(target: Fleet, seen: Seen) -> tuple[Action, ...]:
    """Returns how to make the target the fleet that trains, and the only one that is paid."""
    stay, coming = staying(target, seen), newcomers(target, seen)
    hosts = tuple(dict.fromkeys((*stay, *_in(coming, Standing.WARM), *rescued(seen))))
    cold = _in((*stay, *coming), Standing.COLD)
    if seen.launcher in _NO_LAUNCHER:
        return _let_in(seen, (*hosts, *_in(coming, Standing.COLD)), cold) or (Wait(Awaited.RUNNING, missing=target),)
    actions: list[Action] = []
    if hosts and not _is_hosts_file(hosts, seen):
        actions.append(SetHosts(ids_of(hosts)))
    if cold:
        actions.append(Configure(ids_of(cold)))
    return tuple(actions) or _let_go(target, seen)


def _let_go(target: Fleet, seen: Seen) -> tuple[Action, ...]:
    """Returns how to give back what takes no part, once the members train without it."""
    if seen.capacity is None:
        return (Reached(),)
    members = fleet_of(seen.members)
    if members.beyond(target).size:
        return (Wait(Awaited.RUNNING, missing=target.beyond(members)),)
    late = [node for node in seen.members if node.standing is not Standing.TRAINS]
    does_anyone_train = any(node.standing.holds_state for node in seen.members)
    if not does_anyone_train or (late and not seen.is_hosts_file_old):
        return (Wait(Awaited.TRAINING, ids_of(late)),)
    surplus = leaving(target, seen)
    training = [node for node in surplus if node.standing.holds_state]
    if training:
        return (Wait(Awaited.LEAVING, ids_of(training)),)
    return _release(target, seen, surplus)


def _give_back(seen: Seen) -> tuple[Action, ...]:
    stop = (StopTraining(),) if seen.launcher is LauncherState.RUNNING else ()
    return (*stop, *_release(NO_NODES, seen, seen.nodes))


def _release(target: Fleet, seen: Seen, surplus: Sequence[SeenNode]) -> tuple[Action, ...]:
    """Returns how EC2 is made to end the surplus."""
    if seen.capacity != target:
        return (LetGo(ids_of(surplus)), SetCapacity(target)) if surplus else (SetCapacity(target),)
    if surplus:
        return (LetGo(ids_of(surplus)), Wait(Awaited.ENDING, ids_of(surplus)))
    return (Reached(),)


def _let_in(seen: Seen, hosts: Sequence[SeenNode], cold: Sequence[SeenNode]) -> tuple[Action, ...]:
    """Returns how these nodes become the hosts file's, with a launcher that runs; nothing where all is so already."""
    if not hosts:
        return ()
    if seen.launcher in _NO_LAUNCHER:
        return (Configure(ids_of(cold), with_head=True), SetHosts(ids_of(hosts)), StartTraining())
    actions: list[Action] = [Configure(ids_of(cold))] if cold else []
    if not _is_hosts_file(hosts, seen):
        actions.append(SetHosts(ids_of(hosts)))
    return tuple(actions)


def _is_hosts_file(nodes: Sequence[SeenNode], seen: Seen) -> bool:
    return len(nodes) == seen.hosts and all(node.is_member for node in nodes)


def _in(nodes: Sequence[SeenNode], *standings: Standing) -> tuple[SeenNode, ...]:
    return tuple(node for node in nodes if node.standing in standings)
