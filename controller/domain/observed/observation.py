"""What one pass of the controller saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.domain.fleet import Fleet
from controller.domain.observed.credits import Credits
from controller.domain.observed.fact import Fact
from controller.domain.observed.nodes import HeadSeen, NodeSeen
from controller.domain.reasons.base import Reason


@dataclass(frozen=True)
class UnknownNode:
    """An instance that runs, and of which nothing trustworthy is known at the moment."""

    instance_id: str
    flavor: str
    reason: Reason


@dataclass(frozen=True)
class Observation:
    """What one pass saw: the facts that can be trusted, and the nodes whose state is unknown."""

    at: float
    fleet: Fleet
    """What runs, by flavor, as EC2 says."""
    facts: tuple[Fact, ...] = ()
    unknown: tuple[UnknownNode, ...] = ()
    head: HeadSeen | None = None
    """What the head shows; None where it did not answer."""
    nodes: tuple[NodeSeen, ...] = ()
    """What each running worker shows that answered, whether it takes part or not."""
    silent: Mapping[str, str] = field(default_factory=dict, hash=False)
    """By instance id what was said of the nodes, the head included, that did not answer."""
    credits: Mapping[str, Credits] = field(default_factory=dict, hash=False)
    """By instance id the CPU credits of burstable nodes, as far as CloudWatch has told them."""
    zones: Mapping[str, int] = field(default_factory=dict, hash=False)
    """By availability zone how many nodes of the fleet are there, as far as EC2 tells their zones."""
