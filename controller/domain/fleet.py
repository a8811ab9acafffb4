"""How many nodes of each flavor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Fleet(Mapping[str, int]):
    """How many nodes of each flavor: an immutable mapping, flavors in order of name, hashable.

    Flavors with zero nodes are kept, so that a fleet can be written back as a whole capacity file; two fleets are equal
    when they hold the same nodes, whether or not they list the empty flavors.
    """

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Mapping[str, int]) -> None:
        for flavor, count in nodes.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise ValueError(f"the number of {flavor} nodes must be a whole number from 0 up, not {count!r}")
        self._nodes = dict(sorted(nodes.items()))

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
        """The flavors that have at least one node."""
        return {flavor: count for flavor, count in self._nodes.items() if count}

    @property
    def size(self) -> int:
        """Nodes in all, which is the world size of the training (one rank per node)."""
        return sum(self._nodes.values())

    def count(self, flavor: str) -> int:
        """Nodes of this flavor; 0 where the fleet has none."""
        return self._nodes.get(flavor, 0)

    def with_count(self, flavor: str, count: int) -> Fleet:
        """The same fleet with another number of nodes of one flavor."""
        return Fleet({**self._nodes, flavor: count})

    def union(self, other: Fleet) -> Fleet:
        """For each flavor the larger of the two counts: the fleet while a move has grown and not yet shrunk."""
        return Fleet({f: max(self.count(f), other.count(f)) for f in {*self, *other}})

    def usd_per_hour(self, prices: Mapping[str, float]) -> float:
        """What the fleet costs an hour. Raises KeyError for a flavor that is present and has no price."""
        return sum(count * prices[flavor] for flavor, count in self.present.items())
