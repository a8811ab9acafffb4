"""A look at the cluster: what is known, and why other nodes are unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.domain import Fleet, HeadSeen, LauncherState, NodeSeen, WorkerState
from controller.domain.errors import AnsibleError, AwsError, NodesError
from controller.domain.reasons import Reason, Said
from controller.domain.reasons.nodes import AnsibleUnusable, Ec2Unreachable, FactMissing, NodeUnreachable, TakesNoPart
from controller.edges.ansible import Outcome
from tests.unit.controller.harness import Controller, new_world

FLEET = Fleet({"c5.large": 2})


@pytest.fixture
def one(tmp_path: Path) -> Controller:
    """Two c5.large of which the first trains and the second is no member yet."""
    world = new_world(is_up=True, desired=dict(FLEET))
    world.scale()
    world.advance(10.0)
    controller = Controller(world, tmp_path)
    first = world.nodes[0]
    first.is_configured = True
    world.set_hosts([first.address])
    world.is_started = True
    world.advance(10.0)
    controller.journal.set_members(frozenset({first.instance_id}))
    return controller


def unknown(one: Controller) -> list[Reason]:
    """Looks, and returns why nodes are unknown."""
    return [node.reason for node in one.cluster.observer.look().unknown]


def test_members_are_asked_and_others_take_no_part_yet(one: Controller) -> None:
    seen = one.cluster.observer.look()
    assert (seen.fleet, [fact.instance_id for fact in seen.facts]) == (FLEET, ["i-0001"])
    assert [(node.instance_id, node.reason) for node in seen.unknown] == [("i-0002", TakesNoPart())]


def test_a_member_without_a_fact_is_unknown(one: Controller) -> None:
    one.world.set_hosts([node.address for node in one.world.nodes])
    assert unknown(one) == [FactMissing()]


def show(one: Controller, head: HeadSeen | None, *nodes: NodeSeen) -> None:
    """Lets the next looks find this head and these nodes."""
    read = one.ansible.read_local_facts

    def read_local_facts(*given: Any) -> Outcome:
        outcome = read(*given)
        outcome.head, outcome.nodes = head, {node.instance_id: node for node in nodes}
        return outcome

    one.ansible.read_local_facts = read_local_facts  # type: ignore[method-assign]


def seen_with(one: Controller, hosts: frozenset[str] | None) -> tuple[list[str], list[Reason]]:
    """Looks while the head has these hosts. Returns whose facts count, and why other nodes are unknown."""
    show(one, HeadSeen(LauncherState.RUNNING, hosts))
    seen = one.cluster.observer.look()
    return [fact.instance_id for fact in seen.facts], [node.reason for node in seen.unknown]


def test_members_are_those_in_the_heads_hosts_file_whatever_the_journal_says(one: Controller) -> None:
    one.journal.set_members(frozenset({"i-0002"}))
    first, second = (node.address for node in one.world.nodes)
    assert seen_with(one, frozenset({first, "10.9.9.9"})) == (["i-0001"], [TakesNoPart()])
    assert seen_with(one, frozenset({first, second})) == (["i-0001"], [FactMissing()])
    assert seen_with(one, frozenset()) == seen_with(one, None) == ([], [TakesNoPart(), TakesNoPart()])


def test_the_journal_tells_the_members_where_the_head_does_not_answer(one: Controller) -> None:
    show(one, None)
    assert [fact.instance_id for fact in one.cluster.observer.look().facts] == ["i-0001"]


def test_what_the_nodes_show_is_seen_whether_they_take_part_or_not(one: Controller) -> None:
    head, stranger = HeadSeen(LauncherState.DEAD, frozenset()), NodeSeen("i-gone", WorkerState.WARM)
    nodes = NodeSeen("i-0001", WorkerState.LEFT, 3.0), NodeSeen("i-0002", WorkerState.ABSENT)
    show(one, head, *nodes, stranger)
    seen = one.cluster.observer.look()
    assert (seen.head, seen.nodes) == (head, nodes)


def test_where_ec2_can_not_be_asked_the_fleet_is_the_one_that_was_seen_last(one: Controller) -> None:
    one.cluster.observer.look()
    one.world.failures["instances"] = [AwsError("no route")]
    seen = one.cluster.observer.look()
    assert (seen.fleet, seen.facts) == (FLEET, ())
    assert {node.reason for node in seen.unknown} == {Ec2Unreachable(Said("no route"))}


def test_where_ansible_can_not_be_run_every_node_is_unknown(one: Controller) -> None:
    one.world.failures["facts"] = [AnsibleError("not found")]
    assert set(unknown(one)) == {AnsibleUnusable(Said("not found"))} and one.cluster.observer.end is None


def test_an_end_that_was_seen_once_is_not_forgotten(one: Controller) -> None:
    one.world.outcome = "finished"
    one.cluster.observer.look()
    one.world.outcome = None
    one.cluster.observer.look()
    assert one.cluster.observer.end is not None and one.cluster.observer.end.finished


def test_a_head_that_does_not_run_is_an_error_that_names_it(one: Controller) -> None:
    one.cluster.instances._aws.instances = lambda cluster: ()
    with pytest.raises(NodesError, match=r"The head i-head does not run\."):
        one.cluster.instances.head()


def test_a_look_says_when_it_was_made_and_what_silent_nodes_said(one: Controller) -> None:
    one.world.nodes[1].is_frozen = True
    seen = one.cluster.observer.look()
    assert seen.at == one.clock.now()
    assert list(seen.silent) == ["i-0002"] and seen.silent["i-0002"]


def test_where_the_head_is_not_to_be_found_the_workers_are_unknown_with_the_reason(one: Controller) -> None:
    def gone(*given: Any) -> Outcome:
        raise NodesError("The head does not run.")

    one.ansible.read_local_facts = gone  # type: ignore[method-assign]
    seen = one.cluster.observer.look()
    assert (seen.at, seen.fleet) == (one.clock.now(), FLEET)
    reason = NodeUnreachable("The head does not run.")
    assert [(n.instance_id, n.flavor, n.reason) for n in seen.unknown] == [
        ("i-0001", "c5.large", reason),
        ("i-0002", "c5.large", reason),
    ]


def test_the_nodes_are_asked_over_ssh_with_the_variables_of_the_run(one: Controller) -> None:
    asked: list[Any] = []
    read = one.ansible.read_local_facts

    def noted(*given: Any) -> Outcome:
        asked.append(given)
        return read(*given)

    one.ansible.read_local_facts = noted  # type: ignore[method-assign]
    one.cluster.observer.look()
    [(access, instances, variables)] = asked
    reaching = one.cluster.observer._reaching
    assert (access, variables) == (reaching.access(), {"centavo": reaching.variables()})
    assert [i.instance_id for i in instances] == [reaching.instances.head().instance_id, "i-0001", "i-0002"]


def test_the_times_of_a_node_whose_clock_is_ahead_are_put_right(one: Controller) -> None:
    right = one.cluster.observer.look().facts[0].updated_at
    show(one, HeadSeen(LauncherState.RUNNING, None), NodeSeen("i-0001", WorkerState.WARM, clock_ahead_s=3.0))
    observer = one.cluster.observer
    observer._members = lambda: frozenset({"i-0001"})
    outcome = observer._ansible.read_local_facts

    def without_head(*given: Any) -> Outcome:
        found = outcome(*given)
        found.head = None
        return found

    one.ansible.read_local_facts = without_head  # type: ignore[method-assign]
    assert observer.look().facts[0].updated_at == pytest.approx(right - 3.0, abs=1.0)
