"""Reasons that are about one flavor: what is wrong with its price, why it is not started, how its speed is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from controller.domain.reasons.base import Reason


@dataclass(frozen=True)
class NoPrice(Reason):
    """No price of the flavor is known."""

    code: ClassVar[str] = "no-price"


@dataclass(frozen=True)
class PriceNotPositive(Reason):
    """The price is not a number above zero."""

    code: ClassVar[str] = "price-not-positive"
    given: str
    """The price in dollars an hour as text: JSON has no number for `nan` and `inf`."""


@dataclass(frozen=True)
class PriceTooHigh(Reason):
    """The price is so high that it must be a mistake."""

    code: ClassVar[str] = "price-too-high"
    usd_per_hour: float
    most_usd_per_hour: float


@dataclass(frozen=True)
class PriceStale(Reason):
    """The price was fetched too long ago."""

    code: ClassVar[str] = "price-stale"
    age_s: float
    max_age_s: float


@dataclass(frozen=True)
class Excluded(Reason):
    """A person has excluded the flavor."""

    code: ClassVar[str] = "excluded"
    why: str
    """In words from outside, such as the file that says so."""


@dataclass(frozen=True)
class UnavailableForNow(Reason):
    """The flavor could not be started lately, and is not tried again yet."""

    code: ClassVar[str] = "unavailable-for-now"
    another_s: float


@dataclass(frozen=True)
class MemoryTooSmall(Reason):
    """The flavor has too little memory for the training, so that its nodes are not bought."""

    code: ClassVar[str] = "memory-too-small"
    memory_bytes: int
    """Of the instance type."""
    needed_bytes: int
    """Of one worker process."""
    reserved_bytes: int
    """For the operating system and everything but the training."""
    is_measured: bool
    """Whether a node that trains has told the need. Otherwise it is the trainer's estimate."""


@dataclass(frozen=True)
class FlavorsTooSmall(Reason):
    """Nodes of these flavors were to be bought, and are too small for the training. None was bought."""

    code: ClassVar[str] = "flavors-too-small"
    flavors: Mapping[str, Reason]
    """Each with the reason."""


@dataclass(frozen=True)
class NotMeasured(Reason):
    """No node of the flavor has been measured."""

    code: ClassVar[str] = "not-measured"


@dataclass(frozen=True)
class TooFewSteps(Reason):
    """The flavor was measured over too few steps."""

    code: ClassVar[str] = "too-few-steps"
    steps: int
    needed: int


@dataclass(frozen=True)
class BadNodesLeftOut(Reason):
    """The speed of the flavor is that of its other nodes: these are far slower."""

    code: ClassVar[str] = "bad-nodes-left-out"
    instances: tuple[str, ...]


@dataclass(frozen=True)
class CreditsSpent(Reason):
    """The burstable flavor was measured after its CPU credits were spent."""

    code: ClassVar[str] = "credits-spent"


@dataclass(frozen=True)
class JudgedByBaseline(Reason):
    """The burstable flavor is judged by what it sustains without CPU credits."""

    code: ClassVar[str] = "judged-by-baseline"
    baseline_share: float
    """Share of the measured speed, 0 to 1."""


@dataclass(frozen=True)
class CreditsLast(Reason):
    """The nodes of the burstable flavor run at full speed until their CPU credits are spent."""

    code: ClassVar[str] = "credits-last"
    for_s: float
    """How long the credits last of the node that has the most."""
    baseline_share: float
    """Share of the measured speed that is left then, 0 to 1."""


@dataclass(frozen=True)
class FellForGood(Reason):
    """Nodes of the flavor have fallen to a steady lower speed, as they do when CPU credits are spent."""

    code: ClassVar[str] = "fell-for-good"
    instances: tuple[str, ...]
    share: float
    """What is left of their speed, 0 to 1."""
    others: int
    """How many other nodes of the flavor are expected to follow."""


@dataclass(frozen=True)
class KeepsItsSpeed(Reason):
    """The burstable flavor keeps its speed long after its CPU credits should have been spent."""

    code: ClassVar[str] = "keeps-its-speed"


@dataclass(frozen=True)
class PaysForSurplus(Reason):
    """The burstable flavor keeps its full speed, and pays for surplus credits."""

    code: ClassVar[str] = "pays-for-surplus"
    usd_per_hour: float
    """What a node pays for them while it works."""


@dataclass(frozen=True)
class KnownFromEarlierRun(Reason):
    """The speed was measured in an earlier run."""

    code: ClassVar[str] = "known-from-earlier-run"


@dataclass(frozen=True)
class FlavorsNotObtained(Reason):
    """Nodes of these flavors were asked for and did not come."""

    code: ClassVar[str] = "flavors-not-obtained"
    flavors: tuple[str, ...]
