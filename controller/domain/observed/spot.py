"""What the spot market does to a run: nodes that EC2 takes back, and the wait for capacity."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.fleet import Fleet
from controller.domain.observed.fact import NoticeKind


@dataclass(frozen=True)
class Noticed:
    """A node of which the spot service has said that EC2 takes it back, or may do so soon.

    Attributes:
        instance_id: The node.
        flavor: Its flavor. With its zone it names the spot pool.
        kind: What was said.
        at: When the controller learned it (seconds since the epoch).
        ends_at: When EC2 takes it back; None where no time is named.
        zone: Its availability zone, where that is known.
    """

    instance_id: str
    flavor: str
    kind: NoticeKind
    at: float
    ends_at: float | None = None
    zone: str | None = None


@dataclass(frozen=True)
class Shortage:
    """A time in which a run has fewer nodes that last than it wants, since EC2 has taken some back.

    Attributes:
        wanted: The fleet that it had before. As many nodes are wanted as it has.
        since: From when on nodes were about to be lacking (seconds since the epoch).
        waiting_since: From when on no pool had capacity; None while one is tried.
        is_stopped: Whether the launcher was stopped, since no node is left that could train.
    """

    wanted: Fleet
    since: float
    waiting_since: float | None = None
    is_stopped: bool = False


@dataclass(frozen=True)
class Exposure:
    """How often nodes of a flavor were taken back, and how long nodes of it ran."""

    lost: int = 0
    node_hours: float = 0.0


@dataclass(frozen=True)
class SpotSettings:
    """What is done where the spot market has no capacity.

    Attributes:
        on_demand_fallback: Whether nodes that are lacking may be bought on demand.
        wait_s: How long spot capacity is waited for before that.
        rebalance: Whether a node is replaced, too, that EC2 recommends to replace.
    """

    on_demand_fallback: bool = False
    wait_s: float = 900.0
    rebalance: bool = True
