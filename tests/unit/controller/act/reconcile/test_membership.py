"""Which nodes come, stay and leave where there are more than enough."""

from __future__ import annotations

from itertools import pairwise

import pytest

from controller.act.reconcile.membership import leaving, newcomers, rescued, staying
from controller.act.reconcile.seen import Seen, SeenNode, Standing, ids_of
from controller.domain import Fleet, LauncherState

READIEST = [
    Standing.WARM,
    Standing.STARTING,
    Standing.COLD,
    Standing.TRAINS_OTHERWISE,
    Standing.ENDED,
    Standing.SILENT,
    Standing.PENDING,
    Standing.FAILED,
]


def seen(*nodes: SeenNode) -> Seen:
    return Seen(nodes, LauncherState.RUNNING, sum(node.is_member for node in nodes))


def stranger(name: str, standing: Standing = Standing.WARM, **more: bool) -> SeenNode:
    return SeenNode(name, "a", standing, **more)  # type: ignore[arg-type]


def member(name: str, rank: int | None, standing: Standing = Standing.TRAINS, **more: bool) -> SeenNode:
    return SeenNode(name, "a", standing, is_member=True, rank=rank, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("readier", "other"), pairwise(READIEST))
def test_the_readier_node_comes_first_whatever_its_name(readier: Standing, other: Standing) -> None:
    nodes = seen(stranger("i-1", other), stranger("i-2", readier))
    assert ids_of(newcomers(Fleet({"a": 1}), nodes)) == ("i-2",)


def test_of_nodes_that_are_equally_ready_the_one_to_lose_comes_last_then_the_name_decides() -> None:
    nodes = seen(stranger("i-1", leaves_first=True), stranger("i-3"), stranger("i-2"))
    assert ids_of(newcomers(Fleet({"a": 1}), nodes)) == ("i-2",)
    assert ids_of(newcomers(Fleet({"a": 2}), nodes)) == ("i-2", "i-3")


def test_newcomers_fill_up_what_the_members_leave_open() -> None:
    nodes = seen(member("i-1", 0), stranger("i-2"), stranger("i-3"), SeenNode("i-4", "b", Standing.WARM))
    assert ids_of(newcomers(Fleet({"a": 2, "b": 1}), nodes)) == ("i-2", "i-4")


def test_the_lowest_ranks_stay() -> None:
    nodes = seen(member("i-1", 2), member("i-2", 0), member("i-3", 1))
    assert ids_of(staying(Fleet({"a": 2}), nodes)) == ("i-2", "i-3")


def test_rank_0_stays_before_rank_1_whatever_their_names() -> None:
    assert ids_of(staying(Fleet({"a": 1}), seen(member("i-1", 1), member("i-2", 0)))) == ("i-2",)


def test_a_rank_that_trains_stays_before_one_of_which_nothing_is_known() -> None:
    nodes = seen(member("i-1", None, Standing.SILENT), member("i-2", 1))
    assert ids_of(staying(Fleet({"a": 1}), nodes)) == ("i-2",)


def test_a_member_with_a_rank_stays_before_one_without() -> None:
    nodes = seen(member("i-1", None), member("i-2", 5))
    assert ids_of(staying(Fleet({"a": 1}), nodes)) == ("i-2",)


def test_the_nodes_that_a_decision_wants_to_lose_leave_first_even_rank_0() -> None:
    nodes = seen(member("i-1", 0, leaves_first=True), member("i-2", 1))
    assert ids_of(staying(Fleet({"a": 1}), nodes)) == ("i-2",)


def test_every_member_stays_while_no_rank_that_would_stay_holds_the_parameters() -> None:
    nodes = seen(SeenNode("i-1", "b", Standing.WARM, is_member=True), member("i-2", 0))
    assert ids_of(staying(Fleet({"b": 1}), nodes)) == ("i-1", "i-2")


def test_a_node_that_was_taken_out_comes_back_where_it_alone_holds_the_parameters() -> None:
    out = stranger("i-2", Standing.TRAINS_OTHERWISE)
    assert rescued(seen(member("i-1", 0, Standing.COLD), out)) == (out,)
    assert rescued(seen(member("i-1", 0), out)) == ()
    dropped = member("i-3", 1, is_dropped=True)
    assert rescued(seen(member("i-1", 0, Standing.COLD), dropped)) == (dropped,)


def test_what_takes_no_part_and_is_not_needed_leaves() -> None:
    nodes = seen(member("i-1", 0), stranger("i-2"), stranger("i-3"), member("i-4", 1, is_dropped=True))
    assert ids_of(leaving(Fleet({"a": 2}), nodes)) == ("i-3", "i-4")
    assert ids_of(leaving(Fleet({"a": 1}), nodes)) == ("i-2", "i-3", "i-4")


def test_a_node_that_is_taken_back_stays_until_another_one_trains_in_its_place() -> None:
    target, doomed = Fleet({"a": 2}), member("i-1", 0, is_doomed=True)
    joining = seen(doomed, member("i-2", 1), member("i-3", None, Standing.WARM))
    assert ids_of(staying(target, joining)) == ("i-1", "i-2", "i-3")
    together = seen(doomed, member("i-2", 1), member("i-3", 2))
    assert ids_of(staying(target, together)) == ("i-2", "i-3")


def test_a_node_that_is_taken_back_is_not_counted_among_those_that_are_there() -> None:
    nodes = seen(member("i-1", 0, is_doomed=True), member("i-2", 1), stranger("i-3", Standing.COLD))
    assert ids_of(newcomers(Fleet({"a": 2}), nodes)) == ("i-3",)


def test_of_the_nodes_that_may_come_one_that_is_at_risk_is_the_last() -> None:
    nodes = seen(stranger("i-1", Standing.WARM, is_doomed=True), stranger("i-2", Standing.PENDING))
    assert ids_of(newcomers(Fleet({"a": 1}), nodes)) == ("i-2",)
