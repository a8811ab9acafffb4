"""Which instances leave when a move shrinks the fleet."""

from __future__ import annotations

from controller.act.drain import added_by, choose_drain
from controller.domain import Fact, Fleet, Instance, Move, MovePhase, TrainingState
from controller.domain.reasons import Said

WORKERS = [Instance(f"i-{number}", "c5.large", "worker", "running", f"10.0.0.{number}") for number in range(4)]


def facts(*numbers: int) -> list[Fact]:
    """Of each of these instances a fact, whose rank is its number."""
    return [
        Fact(f"i-{number}", "c5.large", number, 4, TrainingState.TRAINING, 100, 0.2, 0.1, 8.0, 100.0, 50, 0.0)
        for number in numbers
    ]


def shrink(to: int, bad: tuple[str, ...] = ()) -> Move:
    return Move(1, 0.0, Fleet({"c5.large": 4}), Fleet({"c5.large": to}), Said(""), drain=bad)


def test_the_highest_ranks_leave() -> None:
    assert choose_drain(shrink(2), WORKERS, facts(0, 1, 2, 3)) == ("i-3", "i-2")


def test_bad_nodes_leave_first_and_then_the_highest_ranks() -> None:
    assert choose_drain(shrink(2, ("i-1",)), WORKERS, facts(0, 1, 2, 3)) == ("i-1", "i-3")


def test_nodes_of_which_nothing_is_known_leave_before_bad_ones() -> None:
    assert choose_drain(shrink(2, ("i-1",)), WORKERS, facts(0, 1, 3)) == ("i-2", "i-1")


def test_a_bad_node_stays_where_its_flavor_does_not_shrink() -> None:
    assert choose_drain(shrink(4, ("i-1",)), WORKERS, facts(0, 1, 2, 3)) == ()


def test_of_every_flavor_that_shrinks_the_surplus_leaves() -> None:
    others = [Instance(f"j-{number}", "t2.large", "worker", "running", f"10.0.1.{number}") for number in range(3)]
    move = Move(1, 0.0, Fleet({"c5.large": 4, "t2.large": 3}), Fleet({"c5.large": 3, "t2.large": 1}), Said(""))
    assert choose_drain(move, [*WORKERS, *others], facts(0, 1, 2, 3)) == ("i-3", "j-0", "j-1")


def test_a_move_that_is_undone_gives_back_what_it_has_added_by_name() -> None:
    move = Move(1, 0.0, Fleet({"c5.large": 2}), Fleet({"c5.large": 4}), Said(""), MovePhase.JOINING, grown=("i-3",))
    assert added_by(move, WORKERS, {"i-0", "i-1"}) == {"i-3"}, "i-2 is a replacement of EC2's own"


def test_while_it_grows_every_worker_that_is_no_member_counts_as_added() -> None:
    move = Move(1, 0.0, Fleet({"c5.large": 2}), Fleet({"c5.large": 4}), Said(""), MovePhase.GROWING)
    assert added_by(move, WORKERS, {"i-0", "i-1"}) == {"i-2", "i-3"}


def test_rank_0_stays_as_long_as_another_can_leave() -> None:
    assert choose_drain(shrink(1), WORKERS, facts(0, 1, 2, 3)) == ("i-3", "i-2", "i-1")
