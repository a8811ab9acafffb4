"""Reasons that are about moves: why a fleet was not moved to, why a move waits, and why it was undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from controller.domain.fleet import Fleet
from controller.domain.reasons.base import Reason

# Why a move begins or waits


@dataclass(frozen=True)
class MergedByPeople(Reason):
    """People have merged a proposal of the fleet that is moved to."""

    code: ClassVar[str] = "merged-by-people"


@dataclass(frozen=True)
class WaitsAfterFailure(Reason):
    """A move to the fleet, or to more nodes of one of its flavors, has failed too short a while ago."""

    code: ClassVar[str] = "waits-after-failure"
    target: Fleet
    until: float
    """Seconds since the epoch."""


# Why the new nodes did not come to life


@dataclass(frozen=True)
class NoCapacity(Reason):
    """EC2 could not launch instances: it has no capacity, or the account no quota."""

    code: ClassVar[str] = "no-capacity"
    failures: Mapping[str, str]
    """By flavor what EC2 said."""


@dataclass(frozen=True)
class NotRunning(Reason):
    """Nodes did not run in time."""

    code: ClassVar[str] = "not-running"
    missing: Fleet
    limit_s: float


@dataclass(frozen=True)
class NoAnswer(Reason):
    """Nodes run and did not answer over SSH in time."""

    code: ClassVar[str] = "no-answer"
    nodes: Mapping[str, str]
    """By instance id what SSH said."""
    limit_s: float


@dataclass(frozen=True)
class ConfiguringFailed(Reason):
    """New nodes could not be made workers."""

    code: ClassVar[str] = "configuring-failed"
    cause: Reason


@dataclass(frozen=True)
class DidNotJoin(Reason):
    """Nodes were added to the hosts file and did not train in the new world size in time."""

    code: ClassVar[str] = "did-not-join"
    nodes: Mapping[str, str]
    """By instance id the flavor."""
    awaited: int
    """The number of nodes that were waited for."""
    limit_s: float


@dataclass(frozen=True)
class RankFailed(Reason):
    """A rank said in its fact that it failed."""

    code: ClassVar[str] = "rank-failed"
    node: str
    """The instance id."""
    flavor: str
    said: str | None
    """The rank's own reason."""


# Why the training needs the move no more


@dataclass(frozen=True)
class TrainingEnded(Reason):
    """The training ended before the move was done."""

    code: ClassVar[str] = "training-ended"


@dataclass(frozen=True)
class TrainingEndedInShrinking(Reason):
    """The training ended while the drained nodes were leaving: the move counts as done."""

    code: ClassVar[str] = "training-ended-in-shrinking"


# What failed underneath


@dataclass(frozen=True)
class PlaybookFailed(Reason):
    """An Ansible playbook failed."""

    code: ClassVar[str] = "playbook-failed"
    playbook: str
    status: str
    """In ansible-runner's word: `failed`, `timeout`, ..."""
    nodes: Mapping[str, str]
    """By instance id what went wrong there. Empty where the playbook failed on no node."""
    output: str
    """The last lines that the playbook wrote."""


@dataclass(frozen=True)
class TerraformFailed(Reason):
    """A Terraform command failed."""

    code: ClassVar[str] = "terraform-failed"
    command: str
    said: str


@dataclass(frozen=True)
class TerraformTookTooLong(Reason):
    """A Terraform command was stopped because its time was over."""

    code: ClassVar[str] = "terraform-took-too-long"
    command: str
    limit_s: float


@dataclass(frozen=True)
class StateLocked(Reason):
    """Somebody else's Terraform has locked the state."""

    code: ClassVar[str] = "state-locked"
    who: str
    """In Terraform's words: user@host."""
    operation: str
    """In Terraform's words: `OperationTypeApply`, ..."""
    since: float
    """Seconds since the epoch."""
    lock_id: str


@dataclass(frozen=True)
class AwsFailed(Reason):
    """The AWS API could not be reached or refused a call."""

    code: ClassVar[str] = "aws-failed"
    purpose: str
    """What AWS did not do."""
    said: str
