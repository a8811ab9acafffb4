"""How fast nodes became usable, in words."""

from __future__ import annotations

from controller.domain import Instance
from controller.words.preparing import answering, prepared

NOW = 1000.0


def node(name: str, flavor: str, launched_at: float | None) -> Instance:
    return Instance(name, flavor, "worker", "running", private_ip="10.0.0.1", launched_at=launched_at)


NODES = (
    node("i-1", "c5.large", NOW - 42),
    node("i-2", "c5.large", NOW - 45.4),
    node("i-3", "t2.medium", NOW - 60),
    node("i-4", "c5.xlarge", None),
)


def test_each_flavor_has_a_line_with_its_nodes() -> None:
    assert prepared(NODES, NOW - 30, NOW) == [
        "2 x c5.large prepared in 30 s; warm after launch: 42 to 45 s",
        "1 x c5.xlarge prepared in 30 s",
        "1 x t2.medium prepared in 30 s; warm after launch: 60 s",
    ]


def test_a_thousand_nodes_are_a_line_too() -> None:
    many = [node(f"i-{number}", "c5.large", NOW - 40 - number % 7) for number in range(1000)]
    assert prepared(many, NOW - 30, NOW) == ["1000 x c5.large prepared in 30 s; warm after launch: 40 to 46 s"]


def test_only_nodes_of_this_apply_are_told() -> None:
    assert answering(NODES, NOW - 50, NOW) == ["2 x c5.large answer after launch: 42 to 45 s"]
    assert answering(NODES, NOW, NOW) == []
