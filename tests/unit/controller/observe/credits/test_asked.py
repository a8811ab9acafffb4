"""When CloudWatch is asked for CPU credits, and of which nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.domain import Credits, Instance
from controller.domain.errors import AwsError
from controller.observe.credits.asked import MOST_NODES, NEW_NODES_S, REFRESH_S, AskedCredits


class Office:
    """A CloudWatch that knows some nodes, and a clock."""

    def __init__(self) -> None:
        self.now, self.asked, self.fails = 1000.0, list[list[str]](), False
        self.known: dict[str, Credits] = {}
        self.told: list[str] = []
        self.credits_of = AskedCredits(self, lambda: self.now, self.told.append).of

    def credits(self, instance_ids: Sequence[str], now: float) -> Mapping[str, Credits]:
        assert now == self.now
        self.asked.append([*instance_ids])
        if self.fails:
            raise AwsError("AWS did not tell the CPU credits of the nodes: throttled", "")
        return {node: self.known[node] for node in instance_ids if node in self.known}


def worker(name: str, flavor: str = "t2.medium", state: str = "running") -> Instance:
    return Instance(name, flavor, "worker", state, "10.0.0.1")


def test_all_burstable_nodes_are_asked_for_at_once_and_no_others() -> None:
    office = Office()
    office.known = {"i-1": Credits(30.0, 0.0, 900.0), "i-9": Credits(1.0, 0.0, 900.0)}
    workers = [worker("i-1"), worker("i-2", "c5.large"), worker("i-3", "t3.large"), worker("i-4", state="pending")]
    assert office.credits_of(workers) == {"i-1": Credits(30.0, 0.0, 900.0)}
    assert office.asked == [["i-1", "i-3"]]


def test_a_fleet_without_burstable_nodes_asks_for_nothing() -> None:
    office = Office()
    assert office.credits_of([worker("i-2", "c5.large")]) == {}
    assert office.asked == []


def test_what_is_known_is_kept_until_there_are_new_figures() -> None:
    office = Office()
    office.known = {"i-1": Credits(30.0, 0.0, 900.0)}
    assert office.credits_of([worker("i-1")]) == office.credits_of([worker("i-1")]) == office.known
    assert len(office.asked) == 1
    office.now += REFRESH_S
    office.known = {"i-1": Credits(20.0, 0.0, 1200.0)}
    assert office.credits_of([worker("i-1")]) == office.known
    assert len(office.asked) == 2


def test_where_cloudwatch_does_not_answer_the_pass_goes_on_with_what_is_known() -> None:
    office = Office()
    office.known = {"i-1": Credits(30.0, 0.0, 900.0)}
    office.credits_of([worker("i-1")])
    office.now, office.fails = office.now + REFRESH_S, True
    assert office.credits_of([worker("i-1")]) == office.known
    assert office.credits_of([worker("i-1")]) == office.known
    assert len(office.asked) == 2
    assert office.told == [
        "the CPU credits of the nodes are not known: AWS did not tell the CPU credits of the nodes: throttled"
    ]


def test_a_node_without_figures_has_cloudwatch_asked_again_after_a_minute() -> None:
    office = Office()
    office.known = {"i-1": Credits(30.0, 0.0, 900.0)}
    both = [worker("i-1"), worker("i-2")]
    office.credits_of(both)
    office.now += NEW_NODES_S - 1.0
    assert office.credits_of(both) == office.known and len(office.asked) == 1
    office.known["i-2"] = Credits(60.0, 0.0, 1060.0)
    office.now += 1.0
    assert office.credits_of(both) == office.known and len(office.asked) == 2
    office.now += NEW_NODES_S
    assert office.credits_of(both) == office.known and len(office.asked) == 2, "all are known"


def test_where_cloudwatch_never_answered_nothing_is_known_and_that_is_told_once() -> None:
    office = Office()
    office.fails = True
    assert office.credits_of([worker("i-1")]) == {}
    office.now += NEW_NODES_S
    assert office.credits_of([worker("i-1")]) == {}
    assert (len(office.asked), len(office.told)) == (2, 1)
    office.fails = False
    for fails in (False, True):
        office.now, office.fails = office.now + NEW_NODES_S, fails
        office.credits_of([worker("i-1")])
    assert len(office.told) == 2, "it had answered between"


def test_of_a_large_fleet_one_call_asks_for_as_many_nodes_as_it_may() -> None:
    office = Office()
    office.credits_of([worker(f"i-{number}") for number in range(4 * MOST_NODES)])
    (asked,) = office.asked
    assert len({*asked}) == MOST_NODES
    assert asked[0] == "i-0" and asked[-1] == f"i-{4 * MOST_NODES - 4}"
