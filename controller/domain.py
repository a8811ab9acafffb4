"""What Centavo reasons about, as frozen values with their units in their names. Imports nothing of ours.

Times of day are seconds since the Unix epoch (UTC), durations are seconds, money is US dollars, and a rate says both
of its units. ``None`` always means *unknown*: never zero, never dead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

SECONDS_PER_HOUR = 3600.0


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


class Market(str, Enum):
    """How an instance is bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"


@dataclass(frozen=True)
class Flavor:
    """An EC2 instance type as it may be used here. What is not known of the hardware is None."""

    name: str
    market: Market = Market.ON_DEMAND
    max_nodes: int | None = None
    vcpus: int | None = None
    memory_bytes: int | None = None
    burstable: bool = False
    baseline_share: float | None = None
    """Of a burstable flavor: the share of its full speed that it sustains without credits, 0 to 1."""


@dataclass(frozen=True)
class Instance:
    """One EC2 instance of the cluster, as EC2 says it is."""

    instance_id: str
    flavor: str
    role: str
    """`head` or `worker`."""
    state: str
    """EC2's word: pending, running, shutting-down, ..."""
    private_ip: str | None = None
    public_ip: str | None = None
    launched_at: float | None = None
    image_id: str | None = None

    @property
    def is_running(self) -> bool:
        return self.state == "running" and self.private_ip is not None


@dataclass(frozen=True)
class Price:
    """What a flavor costs, and where that was learned."""

    flavor: str
    usd_per_hour: float
    source: str = "file"
    fetched_at: float | None = None
    interruptions_per_hour: float = 0.0
    """Expected spot interruptions of one node in an hour; 0 on demand."""


def on_demand_name(instance_type: str) -> str:
    """Under which name the on-demand price of a type stands beside that of the flavor, which is bought on spot."""
    return f"{instance_type} (on-demand)"


def head_price(prices: Mapping[str, Price], instance_type: str) -> Price | None:
    """What the head costs: it is bought on demand, also where a flavor of its type is not. None where unknown."""
    return prices.get(on_demand_name(instance_type), prices.get(instance_type))


class TrainingState(str, Enum):
    """What a rank says of itself in its fact."""

    STARTING = "starting"
    TRAINING = "training"
    DRAINING = "draining"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True)
class MembershipChange:
    """The last time that ranks joined or left the training, as a rank that stayed saw it."""

    at: float
    from_size: int
    to_size: int
    pause_s: float
    steps_lost: int


@dataclass(frozen=True)
class Fact:
    """One rank's iteration fact (schema 1). Times are medians over the last `window` steps, warm-up left out."""

    instance_id: str
    flavor: str
    rank: int | None
    world_size: int | None
    state: TrainingState
    step: int
    iteration_time_s: float | None
    compute_time_s: float | None
    samples: float | None
    """Sentence pairs of this rank in a step, as the median over the window."""
    tokens: float | None
    """Target tokens of this rank in a step, as the median over the window."""
    window: int
    """How many steps the medians are over; 0 while there are none."""
    updated_at: float
    peak_memory_bytes: int | None = None
    reason: str | None = None
    total_steps: int | None = None
    total_tokens: int | None = None
    """Target tokens that the whole training has trained on so far."""
    loss: float | None = None
    share: float | None = None
    """This rank's share of the global batch, 0 to 1."""
    emulated_speed: float | None = None
    last_change: MembershipChange | None = None


@dataclass(frozen=True)
class UnknownNode:
    """An instance that runs and of which nothing trustworthy is known at the moment, with the reason."""

    instance_id: str
    flavor: str
    reason: str


@dataclass(frozen=True)
class Observation:
    """What one pass saw: the facts that can be trusted, and the nodes whose state is unknown."""

    at: float
    fleet: Fleet
    """What runs, by flavor, as EC2 says."""
    facts: tuple[Fact, ...] = ()
    unknown: tuple[UnknownNode, ...] = ()


@dataclass(frozen=True)
class Progress:
    """How far the training is. The work that remains is in target tokens."""

    step: int
    total_steps: int
    tokens: int
    started_at: float
    at: float

    @property
    def remaining_steps(self) -> int:
        return max(0, self.total_steps - self.step)

    @property
    def tokens_per_step(self) -> float | None:
        """Target tokens of one step over all ranks; None before the first step."""
        return self.tokens / self.step if self.step else None

    @property
    def remaining_tokens(self) -> float | None:
        """Target tokens still to train on; None while unknown."""
        return None if self.tokens_per_step is None else self.remaining_steps * self.tokens_per_step


@dataclass(frozen=True)
class Limits:
    """What a fleet may be. `min_nodes` and `max_nodes` are of the whole fleet; None is no limit."""

    min_nodes: int = 1
    max_nodes: int | None = None
    max_nodes_per_flavor: Mapping[str, int] = field(default_factory=dict)
    max_vcpus_per_flavor: Mapping[str, int] = field(default_factory=dict)
    max_usd_per_hour: float | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Flavors that may not be used, each with the reason (also those that are unavailable for now)."""
    deadline_at: float | None = None
    budget_usd: float | None = None
    """For the whole training, what has been spent included."""
    max_surge: int | None = None
    """Nodes above the larger of the two fleets' sizes that may run during a move."""


class Verdict(str, Enum):
    """What a decision comes to."""

    MOVE = "move"
    STAY = "stay"
    REFUSE = "refuse"


@dataclass(frozen=True)
class FleetEstimate:
    """What the model expects of one fleet. None where a speed or a price in it is unknown."""

    fleet: Fleet
    step_time_s: float | None
    tokens_per_s: float | None
    usd_per_hour: float | None
    usd_per_million_tokens: float | None
    remaining_s: float | None = None
    remaining_usd: float | None = None


@dataclass(frozen=True)
class FlavorEstimate:
    """What is known of one flavor: price, speed with its interval, and cost."""

    flavor: str
    usd_per_hour: float | None
    tokens_per_s: float | None
    tokens_per_s_low: float | None = None
    tokens_per_s_high: float | None = None
    compute_time_s: float | None = None
    usd_per_million_tokens: float | None = None
    observations: int = 0
    """How many steps were measured."""
    note: str | None = None
    """Why the flavor is not considered, or what is odd about it."""


@dataclass(frozen=True)
class Decision:
    """What to do, why, and on what evidence. `target` equals `current` unless the verdict is a move."""

    at: float
    policy: str
    verdict: Verdict
    current: Fleet
    target: Fleet
    reason: str
    flavors: tuple[FlavorEstimate, ...] = ()
    fleets: tuple[FleetEstimate, ...] = ()
    """The fleets that were compared: the current one first, then the best, then the runners-up."""
    saving_usd: float | None = None
    """Expected on the remaining work, the cost of switching taken off."""
    switching_usd: float | None = None
    is_probe: bool = False
    scaling: tuple[FleetEstimate, ...] = ()
    """The target's flavors at other world sizes: what more nodes would gain."""
    bad_nodes: tuple[str, ...] = ()
    """Instances far slower than their flavor: of a flavor that shrinks, these should be drained first."""


class MovePhase(str, Enum):
    """Where a move is. It only goes forward, or ends in one of the last three."""

    PROPOSED = "proposed"
    GROWING = "growing"
    JOINING = "joining"
    SHRINKING = "shrinking"
    DONE = "done"
    ROLLED_BACK = "rolled_back"
    REFUSED = "refused"

    @property
    def is_final(self) -> bool:
        return self in (MovePhase.DONE, MovePhase.ROLLED_BACK, MovePhase.REFUSED)


@dataclass(frozen=True)
class Move:
    """One change of the fleet, from its proposal to its end."""

    move_id: int
    at: float
    source: Fleet
    target: Fleet
    reason: str
    phase: MovePhase = MovePhase.PROPOSED
    grown: tuple[str, ...] = ()
    """The instances that the move added, known once they run."""
    drain: tuple[str, ...] = ()
    """The instances that are to leave, chosen when the move begins to shrink."""
    outcome_reason: str | None = None
    """Why the move ended as it did. On a move that has not ended: why it is being rolled back."""
    ended_at: float | None = None
    pause_s: float | None = None
    """How long the training stood still for the move, joins and leaves added up."""
    steps_lost: int | None = None
    is_probe: bool = False
    """Whether it was made to measure flavors, as its decision says."""


@dataclass(frozen=True)
class History:
    """What earlier passes left behind: observations oldest first, moves oldest first, and money spent so far."""

    observations: tuple[Observation, ...] = ()
    moves: tuple[Move, ...] = ()
    spent_usd: float = 0.0
    unavailable: Mapping[str, float] = field(default_factory=dict)
    """Flavors that could not be had, with the time until which they count as unavailable."""
    known_tokens_per_s: Mapping[str, float] = field(default_factory=dict)
    """Speeds measured in earlier runs of the same model, batch and image."""
