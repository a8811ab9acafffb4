"""An observation in a few numbers: reports and views of long runs of many nodes need not read every fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from statistics import median
from typing import Any

from controller.domain import Fact, Fleet, Observation, TrainingState
from controller.domain.units import usd_per_million_tokens

KEPT_NODES = 16
"""Of a flavor with more nodes, so many nodes stand for all; they are evenly spaced in the order of speed."""


@dataclass(frozen=True)
class NodeTimes:
    """Compute of a flavor's training ranks in one observation. `compute_time_s` and `tokens` belong together."""

    nodes: int
    compute_time_s: tuple[float, ...]
    """Seconds of a step, as each rank's median over its window."""
    tokens: tuple[float, ...]
    """Target tokens of a step on the same ranks."""

    @property
    def weight(self) -> float:
        """How many nodes each kept value stands for."""
        return self.nodes / len(self.compute_time_s)


@dataclass(frozen=True)
class Summary:
    """One observation in a few numbers. None is unknown."""

    at: float
    fleet: Fleet
    usd_per_hour: float
    """The price of the whole cluster, head included."""
    ranks: int = 0
    """How many ranks say that they train."""
    unknown: int = 0
    world_size: int | None = None
    """The world size of the training, if all its ranks agree."""
    is_whole: bool = False
    """Whether every node of the fleet trains in one world: only then the fleet's cost per token is measured."""
    step: int | None = None
    total_steps: int | None = None
    total_tokens: int | None = None
    loss: float | None = None
    iteration_time_s: float | None = None
    """The median over the ranks."""
    slowest_compute_s: float | None = None
    tokens: float | None = None
    """Target tokens of a step over all ranks; None unless all say theirs."""
    flavors: dict[str, NodeTimes] = field(default_factory=dict)
    changes: tuple[tuple[float, int, int, float, int], ...] = ()
    """The last joins or leaves that ranks report: (at, from size, to size, pause in s, steps lost)."""
    paid_usd_per_hour: dict[str, float] = field(default_factory=dict)
    """By line of the bill what `usd_per_hour` is made of; empty in journals of older versions."""

    @property
    def tokens_per_s(self) -> float | None:
        """Target tokens per second of the whole training."""
        return self.tokens / self.iteration_time_s if self.tokens and self.iteration_time_s else None

    @property
    def running_usd_per_million(self) -> float | None:
        """What a million tokens cost at that time, head included; None unless every rank of the training reports.

        Nodes that do not train yet, or do not train any more, are paid for and are included.
        """
        reporting = sum(times.nodes for times in self.flavors.values())
        if self.tokens_per_s is None or not self.ranks == self.world_size == reporting:
            return None
        return usd_per_million_tokens(self.usd_per_hour, self.tokens_per_s)

    def usd_per_million_tokens(self, usd_per_hour: float) -> float | None:
        """Returns the measured cost of a million tokens at this price; None unless every node of the fleet trains."""
        if not self.is_whole or self.tokens_per_s is None:
            return None
        return usd_per_million_tokens(usd_per_hour, self.tokens_per_s)


def _median_fact(facts: Sequence[Fact]) -> Fact | None:
    """Returns the fact whose step is the median, so that one rank with a wrong step changes nothing."""
    by_step = sorted(facts, key=lambda fact: (fact.step, fact.total_tokens or 0))
    return by_step[len(by_step) // 2] if by_step else None


def summarise(
    observation: Observation, usd_per_hour: float, paid_usd_per_hour: Mapping[str, float] | None = None
) -> Summary:
    """Returns the observation in a few numbers; `usd_per_hour` is of the whole cluster, and is made of the other."""
    training = [fact for fact in observation.facts if fact.state is TrainingState.TRAINING]
    measured = [fact for fact in training if fact.window > 0]
    sizes = {fact.world_size for fact in training}
    size = sizes.pop() if len(sizes) == 1 else None
    typical = _median_fact(observation.facts)
    losses = [fact.loss for fact in training if fact.loss is not None]
    return Summary(
        at=observation.at,
        fleet=observation.fleet,
        usd_per_hour=usd_per_hour,
        ranks=len(training),
        unknown=len(observation.unknown),
        world_size=size,
        is_whole=size is not None and size == len(measured) == observation.fleet.size,
        step=typical.step if typical else None,
        total_steps=typical.total_steps if typical else None,
        total_tokens=typical.total_tokens if typical else None,
        loss=losses[0] if losses else typical.loss if typical else None,
        iteration_time_s=_over(median, (fact.iteration_time_s for fact in measured)),
        slowest_compute_s=_over(max, (fact.compute_time_s for fact in measured)),
        tokens=_total(measured),
        flavors=_flavors(measured),
        changes=_changes(observation.facts),
        paid_usd_per_hour=dict(paid_usd_per_hour or {}),
    )


def to_plain(summary: Summary) -> dict[str, Any]:
    """Returns a summary as plain data, without what the journal keeps beside it (at, fleet, usd_per_hour)."""
    plain = asdict(summary)
    for name in ("at", "fleet", "usd_per_hour"):
        del plain[name]
    return {name: value for name, value in plain.items() if value not in (None, 0, False, {}, ())}


def from_plain(at: float, fleet: Fleet, usd_per_hour: float, plain: dict[str, Any]) -> Summary:
    """Returns the summary that `to_plain` was given."""
    known = {f.name for f in fields(Summary)}
    values = {name: value for name, value in plain.items() if name in known}
    values["flavors"] = {
        flavor: NodeTimes(times["nodes"], tuple(times["compute_time_s"]), tuple(times["tokens"]))
        for flavor, times in values.get("flavors", {}).items()
    }
    values["changes"] = tuple(tuple(change) for change in values.get("changes", ()))
    return Summary(at, fleet, usd_per_hour, **values)


def _over(function: Any, values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(function(known)) if known else None


def _total(facts: Sequence[Fact]) -> float | None:
    tokens = [fact.tokens for fact in facts if fact.tokens is not None]
    return sum(tokens) if tokens and len(tokens) == len(facts) else None


def _flavors(facts: Iterable[Fact]) -> dict[str, NodeTimes]:
    by_flavor: dict[str, list[tuple[float, float]]] = {}
    for fact in facts:
        if fact.compute_time_s and fact.tokens:
            by_flavor.setdefault(fact.flavor, []).append((fact.compute_time_s, fact.tokens))
    return {flavor: _node_times(pairs) for flavor, pairs in sorted(by_flavor.items())}


def _node_times(pairs: list[tuple[float, float]]) -> NodeTimes:
    pairs.sort(key=lambda pair: pair[0] / pair[1])
    count = len(pairs)
    kept = (
        pairs if count <= KEPT_NODES else [pairs[round(i * (count - 1) / (KEPT_NODES - 1))] for i in range(KEPT_NODES)]
    )
    return NodeTimes(count, tuple(round(time_s, 6) for time_s, _ in kept), tuple(round(n, 2) for _, n in kept))


def _changes(facts: Iterable[Fact]) -> tuple[tuple[float, int, int, float, int], ...]:
    distinct = {fact.last_change for fact in facts if fact.last_change is not None}
    return tuple(sorted((c.at, c.from_size, c.to_size, c.pause_s, c.steps_lost) for c in distinct))
