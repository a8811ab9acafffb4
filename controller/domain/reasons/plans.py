"""Reasons for which a plan is not applied, and a capacity file not written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from controller.domain.fleet import Fleet
from controller.domain.reasons.base import Reason

# The guard


@dataclass(frozen=True)
class PlanRefused(Reason):
    """The guard refused a plan of the controller: it would change more than desired capacities."""

    code: ClassVar[str] = "plan-refused"
    findings: tuple[Reason, ...]


@dataclass(frozen=True)
class PlanErrored(Reason):
    """The plan itself ended in an error."""

    code: ClassVar[str] = "plan-errored"


@dataclass(frozen=True)
class TouchesResource(Reason):
    """The plan would change a resource that is no Auto Scaling group."""

    code: ClassVar[str] = "touches-resource"
    address: str
    action: str
    """In Terraform's words: `destroy`, `replace`, `update`, ..."""


@dataclass(frozen=True)
class TouchesGroup(Reason):
    """The plan would do something else to an Auto Scaling group than update it."""

    code: ClassVar[str] = "touches-group"
    address: str
    action: str
    """In Terraform's words: `destroy`, `replace`, `create`, ..."""


@dataclass(frozen=True)
class ChangesAttributes(Reason):
    """The plan would change attributes of a group besides its desired capacity."""

    code: ClassVar[str] = "changes-attributes"
    address: str
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class ForeignGroup(Reason):
    """The plan would change a group of which this cluster has no flavor."""

    code: ClassVar[str] = "foreign-group"
    address: str


@dataclass(frozen=True)
class OtherCapacity(Reason):
    """The plan would give a group another number of nodes than was decided."""

    code: ClassVar[str] = "other-capacity"
    address: str
    planned: int | None
    decided: int


@dataclass(frozen=True)
class AboveMaximum(Reason):
    """The plan would give a group more nodes than Terraform allows."""

    code: ClassVar[str] = "above-maximum"
    address: str
    planned: int
    max_nodes: int


# The capacity file


@dataclass(frozen=True)
class CapacityFileChanged(Reason):
    """Someone else has changed the capacity file since it was last read."""

    code: ClassVar[str] = "capacity-file-changed"
    file: str


@dataclass(frozen=True)
class CapacityFileCorrupt(Reason):
    """The capacity file can't be read, or its content is not a capacity file's."""

    code: ClassVar[str] = "capacity-file-corrupt"
    file: str
    problem: str


@dataclass(frozen=True)
class UndeclaredFlavor(Reason):
    """The capacity file would ask for a flavor that Terraform does not declare."""

    code: ClassVar[str] = "undeclared-flavor"
    file: str
    flavor: str


@dataclass(frozen=True)
class TooMuchCapacity(Reason):
    """The capacity file would ask for more nodes of a flavor than Terraform allows."""

    code: ClassVar[str] = "too-much-capacity"
    file: str
    flavor: str
    nodes: int
    max_nodes: int


@dataclass(frozen=True)
class AbsurdCapacity(Reason):
    """The capacity file would ask for so many nodes that it must be a mistake."""

    code: ClassVar[str] = "absurd-capacity"
    file: str
    flavor: str
    nodes: int
    max_nodes: int
    """More than these are taken for a mistake."""


@dataclass(frozen=True)
class CapacityNotApplied(Reason):
    """The capacity file asks for other nodes than the Auto Scaling groups are set to."""

    code: ClassVar[str] = "capacity-not-applied"
    file: str
    asked: Fleet
    applied: Fleet
