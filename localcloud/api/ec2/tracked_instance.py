"""An instance together with what moto does not know about it."""

from __future__ import annotations

from dataclasses import dataclass

from moto.ec2.models.instances import Instance

from localcloud.api.ec2.states import state_of
from localcloud.link.report import HostReport
from localcloud.link.spec import SpotNotice
from localcloud.settings import BootFailure


@dataclass
class TrackedInstance:
    """An instance of moto's, its host and its future. Times are of the monotonic clock, in seconds.

    Attributes:
        instance: moto's instance.
        due_s: when a pending instance begins to run.
        failure: how its boot fails; None if it does not.
        boot: the number of its boot.
        hosted: whether a host runs for it, or is about to.
        report: the last report of its host.
        notice: the notice of a spot interruption.
        interrupted_at_s: when the interruption happens.
        rebalance_at: when its replacement was recommended (ISO 8601); None if it was not.
        terminated_at_s: when it was terminated.
    """

    instance: Instance
    due_s: float
    failure: BootFailure | None = None
    boot: int = 1
    hosted: bool = False
    report: HostReport | None = None
    notice: SpotNotice | None = None
    interrupted_at_s: float | None = None
    rebalance_at: str | None = None
    terminated_at_s: float | None = None

    @property
    def id(self) -> str:
        """The id of the instance."""
        return str(self.instance.id)

    @property
    def flavor(self) -> str:
        """The instance type."""
        return str(self.instance.instance_type)

    @property
    def state(self) -> str:
        """The EC2 state of the instance."""
        return state_of(self.instance)

    @property
    def is_spot(self) -> bool:
        """Whether it was bought on the spot market."""
        return bool(self.instance.lifecycle == "spot")
