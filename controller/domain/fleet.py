"""How many nodes of each flavor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping


class Fleet(Mapping[str, int]):
    """A number of nodes of each flavor: an immutable, hashable mapping in the order of the flavors' names.

    Flavors with zero nodes are kept, so that a fleet can be written back as a whole capacity file. Two fleets are equal
    when they hold the same nodes, whether or not they list flavors with zero nodes.
    """

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Mapping[str, int]) -> None:
        for flavor, count in nodes.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise ValueError(f"the number of {flavor} nodes must be a whole number from 0 up, not {count!r}")
        self._nodes = dict(sorted(nodes.items()))

    @classmethod
    def counted(cls, flavors: Iterable[str]) -> Fleet:
        """Returns the fleet of nodes whose flavors these are, one name a node."""
        return cls(Counter(flavors))

    def __getitem__(self, flavor: str) -> int:
        return self._nodes[flavor]

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self.present == {f: n for f, n in other.items() if n}

    def __hash__(self) -> int:
        return hash(tuple(self.present.items()))

    def __repr__(self) -> str:
        return f"Fleet({self._nodes})"

    def __str__(self) -> str:
        return ", ".join(f"{count} x {flavor}" for flavor, count in self.present.items()) or "no nodes"

    @property
    def present(self) -> dict[str, int]:
        """The flavors that have at least one node, with their numbers."""
        return {flavor: count for flavor, count in self._nodes.items() if count}

    @property
    def size(self) -> int:
        """The number of all nodes, which is the training's world size: each node runs one rank."""
        return sum(self._nodes.values())

    def count(self, flavor: str) -> int:
        """Returns the number of nodes of this flavor; 0 where the fleet has none."""
        return self._nodes.get(flavor, 0)

    def with_count(self, flavor: str, count: int) -> Fleet:
        """Returns the same fleet with another number of nodes of one flavor."""
        return Fleet({**self._nodes, flavor: count})

    def union(self, other: Fleet) -> Fleet:
        """Returns the larger count of each flavor: the fleet of a move that has grown and has not shrunk yet."""
        return Fleet({flavor: max(self.count(flavor), other.count(flavor)) for flavor in {*self, *other}})

    def plus(self, other: Fleet) -> Fleet:
        """Returns the nodes of both fleets together."""
        return Fleet({flavor: self.count(flavor) + other.count(flavor) for flavor in {*self, *other}})

    def beyond(self, other: Fleet) -> Fleet:
        """Returns the nodes that this fleet has and the other one lacks: of each flavor the surplus, if any."""
        surplus = {flavor: count - other.count(flavor) for flavor, count in self._nodes.items()}
        return Fleet({flavor: count for flavor, count in surplus.items() if count > 0})

    def usd_per_hour(self, prices: Mapping[str, float]) -> float:
        """Returns the fleet's US dollars an hour. Raises KeyError for a flavor that is present and has no price."""
        return sum(count * prices[flavor] for flavor, count in self.present.items())


NO_NODES = Fleet({})
