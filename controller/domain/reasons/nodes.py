"""Reasons for which nothing trustworthy is known of a node at the moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from controller.domain.reasons.base import Reason

# The node was not asked


@dataclass(frozen=True)
class NotAsked(Reason):
    """Nobody has asked the node."""

    code: ClassVar[str] = "not-asked"


@dataclass(frozen=True)
class TakesNoPart(Reason):
    """The node runs and does not take part in the training yet."""

    code: ClassVar[str] = "takes-no-part"


@dataclass(frozen=True)
class Ec2Unreachable(Reason):
    """EC2 could not be asked which instances run."""

    code: ClassVar[str] = "ec2-unreachable"
    error: Reason


@dataclass(frozen=True)
class AnsibleUnusable(Reason):
    """Ansible could not be run, so that no node could be asked."""

    code: ClassVar[str] = "ansible-unusable"
    error: Reason


@dataclass(frozen=True)
class NodeUnreachable(Reason):
    """Ansible could not read the facts of the node."""

    code: ClassVar[str] = "node-unreachable"
    said: str


# The fact can't be trusted


@dataclass(frozen=True)
class FactMissing(Reason):
    """The node has no iteration fact yet."""

    code: ClassVar[str] = "fact-missing"


@dataclass(frozen=True)
class FactTorn(Reason):
    """The fact, or one of its fields, is not what schema 1 says."""

    code: ClassVar[str] = "fact-torn"
    problem: str


@dataclass(frozen=True)
class ForeignSchema(Reason):
    """The fact follows another schema than ours."""

    code: ClassVar[str] = "foreign-schema"
    problem: str


@dataclass(frozen=True)
class FactOfAnotherNode(Reason):
    """The fact names another instance than the one that it was read from."""

    code: ClassVar[str] = "fact-of-another-node"
    instance_id: str
    """The instance that the fact names."""


@dataclass(frozen=True)
class FactOfAnotherFlavor(Reason):
    """The fact names another flavor than EC2 does."""

    code: ClassVar[str] = "fact-of-another-flavor"
    in_fact: str
    in_ec2: str


@dataclass(frozen=True)
class FactOld(Reason):
    """The fact was written too long ago."""

    code: ClassVar[str] = "fact-old"
    age_s: float
    max_age_s: float


@dataclass(frozen=True)
class FactFromTheFuture(Reason):
    """The fact was written at a time that is still to come: the node's clock is wrong."""

    code: ClassVar[str] = "fact-from-the-future"
    ahead_s: float


# The node's clock


@dataclass(frozen=True)
class ClockOff(Reason):
    """The clock of a node is wrong. The times in its facts are corrected by what was measured."""

    code: ClassVar[str] = "clock-off"
    node: str
    """The instance id, or `the head`."""
    ahead_s: float
    """How far the node's clock is ahead of the controller's; below 0 where it is behind."""
