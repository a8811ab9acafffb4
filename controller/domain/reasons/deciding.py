"""Reasons of decisions: why nothing can be decided yet, why the fleet stays, and why it moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from controller.domain.fleet import Fleet
from controller.domain.reasons.base import Reason
from controller.domain.reasons.limits import Constrained

# Why nothing can be decided now


@dataclass(frozen=True)
class MoveUnderWay(Reason):
    """The last move has not ended."""

    code: ClassVar[str] = "move-under-way"
    move_id: int
    target: Fleet
    phase: str


@dataclass(frozen=True)
class CoolingDown(Reason):
    """The cool-down after the last move has not passed."""

    code: ClassVar[str] = "cooling-down"
    move_id: int
    another_s: float


@dataclass(frozen=True)
class NoWorkerRuns(Reason):
    """No worker runs, so that nothing can be measured."""

    code: ClassVar[str] = "no-worker-runs"


@dataclass(frozen=True)
class WaitingForFacts(Reason):
    """Flavors that run have too few facts yet. Without flavors: the training has none at all."""

    code: ClassVar[str] = "waiting-for-facts"
    flavors: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpeedHasFallen(Reason):
    """Nodes of these flavors have just become far slower. How fast they are now is not measured yet."""

    code: ClassVar[str] = "speed-has-fallen"
    flavors: tuple[str, ...]


@dataclass(frozen=True)
class ProgressUnknown(Reason):
    """It is not known how far the training is."""

    code: ClassVar[str] = "progress-unknown"


@dataclass(frozen=True)
class NoStepsLeft(Reason):
    """The training has no steps left."""

    code: ClassVar[str] = "no-steps-left"


@dataclass(frozen=True)
class FewStepsLeft(Reason):
    """Too small a share of the steps remains for a move."""

    code: ClassVar[str] = "few-steps-left"
    share: float
    least_share: float


@dataclass(frozen=True)
class EndsSoon(Reason):
    """The work ends too soon for a move."""

    code: ClassVar[str] = "ends-soon"
    remaining_s: float
    least_s: float


@dataclass(frozen=True)
class SpeedUnknown(Reason):
    """The present fleet cannot be compared with others: the speed of a flavor is unknown."""

    code: ClassVar[str] = "speed-unknown"


@dataclass(frozen=True)
class PricesUnknown(Reason):
    """The present fleet cannot be compared with others: flavors that run have no price that can be used."""

    code: ClassVar[str] = "prices-unknown"
    faults: Mapping[str, Reason]
    """By flavor, what is wrong with its price."""


@dataclass(frozen=True)
class NoMeasuredFleetAllowed(Reason):
    """The limits allow no fleet of measured flavors."""

    code: ClassVar[str] = "no-measured-fleet-allowed"


# Why the fleet stays


@dataclass(frozen=True)
class BestAlready(Constrained):
    """The present fleet is the best one within the limits."""

    code: ClassVar[str] = "best-already"
    fleet: Fleet


@dataclass(frozen=True)
class SavesTooLittle(Constrained):
    """The best fleet saves too little money for a move."""

    code: ClassVar[str] = "saves-too-little"
    target: Fleet
    saving_usd: float
    """After the cost of switching."""
    remaining_usd: float
    """Cost of the remaining work on the present fleet."""
    switching_usd: float
    needed_usd: float


@dataclass(frozen=True)
class SavesTooLittleTime(Constrained):
    """The fastest fleet saves too little time for a move."""

    code: ClassVar[str] = "saves-too-little-time"
    target: Fleet
    saving_s: float
    needed_s: float


@dataclass(frozen=True)
class WithinUncertainty(Constrained):
    """The best fleet looks better, but by less than the uncertainty of what was measured."""

    code: ClassVar[str] = "within-uncertainty"
    target: Fleet
    gain_share: float
    uncertainty_share: float
    objective: str
    """`cost` or `time`."""


# Why the fleet moves


@dataclass(frozen=True)
class CheaperPerToken(Constrained):
    """The target costs less per token."""

    code: ClassVar[str] = "cheaper-per-token"
    target: Fleet
    current: Fleet
    share: float
    """How much less a token costs, 0 to 1."""
    saving_usd: float
    """After the cost of switching."""
    remaining_usd: float
    """Cost of the remaining work on the present fleet."""
    switching_usd: float


@dataclass(frozen=True)
class EndsSooner(Constrained):
    """The target ends the work sooner."""

    code: ClassVar[str] = "ends-sooner"
    target: Fleet
    current: Fleet
    sooner_s: float
    saving_usd: float
    """After the cost of switching; negative where ending sooner costs money."""
    remaining_usd: float
    """Cost of the remaining work on the present fleet."""
    switching_usd: float


@dataclass(frozen=True)
class LeavesBadNodes(Constrained):
    """The target gets rid of nodes that are far slower than their flavor."""

    code: ClassVar[str] = "leaves-bad-nodes"
    target: Fleet
    instances: tuple[str, ...]
    saving_usd: float
    """After the cost of switching."""
    remaining_usd: float
    """Cost of the remaining work on the present fleet."""
    switching_usd: float


@dataclass(frozen=True)
class MeasuresFlavors(Reason):
    """The move is a probe: it measures flavors that may be worth more than measuring them costs."""

    code: ClassVar[str] = "measures-flavors"
    gains_usd: Mapping[str, float]
    """By flavor, what it is expected to save."""
    cost_usd: float
    also: Reason | None = None
    """Why the fleet would move without the probe too."""


@dataclass(frozen=True)
class LeapsToUnmeasured(Reason):
    """The move is made on what is expected of a flavor: measuring it first would take longer than that is worth."""

    code: ClassVar[str] = "leaps-to-unmeasured"
    target: Fleet
    flavor: str
    saving_usd: float
    """What it is expected to save, after the cost of switching, and of leaving the flavor again if it is slow."""
    chance_worse: float
    """The chance that it costs money instead, 0 to 1."""
    worse_usd: float
    """How much then, on average."""


@dataclass(frozen=True)
class LeapsWithinLimits(Reason):
    """No fleet of measured flavors keeps deadline and budget, and one of a flavor that was never measured may."""

    code: ClassVar[str] = "leaps-within-limits"
    target: Fleet
    flavor: str
    chance_kept: float
    """The chance that deadline and budget are kept, 0 to 1."""
    more_usd: float
    """What the rest of the training is expected to cost more than without the move; negative where it costs less."""


# What other policies say


@dataclass(frozen=True)
class AllOneFlavor(Reason):
    """All nodes are of one flavor, so that no node can move to a cheaper flavor that runs."""

    code: ClassVar[str] = "all-one-flavor"
    fleet: Fleet


@dataclass(frozen=True)
class NoRoomForCheaperFlavor(Reason):
    """No flavor that is cheaper than the most expensive one has room for a node."""

    code: ClassVar[str] = "no-room-for-cheaper-flavor"
    most_expensive: str


@dataclass(frozen=True)
class OneNodeToCheapest(Reason):
    """One node moves from the most expensive flavor to the cheapest, by price x compute time per token."""

    code: ClassVar[str] = "one-node-to-cheapest"
    cheapest: str
    most_expensive: str
    share: float
    """How much less the cheapest costs per token, 0 to 1."""


@dataclass(frozen=True)
class CheapestByList(Reason):
    """The fleet is the cheapest by a measure of the price list."""

    code: ClassVar[str] = "cheapest-by-list"
    fleet: Fleet
    measure: str


@dataclass(frozen=True)
class TooFewListed(Reason):
    """Too few flavors have a known value of the measure."""

    code: ClassVar[str] = "too-few-listed"
    measure: str


@dataclass(frozen=True)
class WaitingForFleet(Reason):
    """The fleet that is being tried has too few facts yet."""

    code: ClassVar[str] = "waiting-for-fleet"
    fleet: Fleet


@dataclass(frozen=True)
class ExpectedToImprove(Reason):
    """The target is expected to be better than every fleet that was tried."""

    code: ClassVar[str] = "expected-to-improve"
    target: Fleet
    share: float


@dataclass(frozen=True)
class NothingTriedAllowed(Reason):
    """The limits allow none of the fleets that were tried."""

    code: ClassVar[str] = "nothing-tried-allowed"


@dataclass(frozen=True)
class BestOfTried(Reason):
    """The fleet was the best of those that were tried."""

    code: ClassVar[str] = "best-of-tried"
    fleet: Fleet
    tried: int
