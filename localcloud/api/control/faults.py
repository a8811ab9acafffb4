"""Injecting, listing and clearing faults."""

from __future__ import annotations

from typing import Any

from localcloud.api.control.requests import CLEAR, FAULT, ControlError, FaultRequest
from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.quotas import is_flavor
from localcloud.api.ec2.states import PENDING, RUNNING
from localcloud.api.ec2.tracked_instance import TrackedInstance
from localcloud.api.faults.injected import HOST_KINDS, Fault, Injected, Kind

KINDS: tuple[Kind, ...] = (*HOST_KINDS, "throttle", "s3-down", "slow-api", "no-capacity")
SERVICES = ("autoscaling", "ec2", "iam", "pricing", "s3", "servicequotas", "ssm", "sts")


class FaultControl:
    """Answers the requests `faults`, `fault` and `clear`. Every method is called with the API's lock held."""

    def __init__(self, injected: Injected, instances: Instances) -> None:
        self.injected = injected
        self.instances = instances

    def list(self) -> dict[str, Any]:
        """Returns the faults in force."""
        return {"faults": [fault.to_json() for fault in self.injected.all()]}

    def inject(self, body: bytes) -> dict[str, Any]:
        """Brings a fault into force, and returns it.

        Raises:
            ControlError: there is no such fault, or no such target.
        """
        wanted = FAULT.parse(body)
        kind = next((kind for kind in KINDS if kind == wanted.kind), None)
        if kind is None:
            raise ControlError(f"there is no fault {wanted.kind!r}; there are {', '.join(KINDS)}")
        if kind in HOST_KINDS:
            fault = self._at_host(kind, wanted)
        elif kind == "slow-api" and wanted.seconds is None:
            raise ControlError("slow-api needs `seconds`, how long each answer takes")
        else:
            self._check_target(kind, wanted.target)
            fault = self.injected.inject(
                kind, wanted.target, wanted.for_s, delay_s=wanted.seconds or 0.0, times_left=wanted.times
            )
        return fault.to_json()

    def clear(self, body: bytes) -> dict[str, Any]:
        """Ends faults, and returns those that were ended.

        Raises:
            ControlError: no fault in force is the one that was meant.
        """
        meant = CLEAR.parse(body)
        asked = (meant.number, meant.kind, meant.target)
        ended = self.injected.clear(
            lambda fault: all(
                wanted in (None, found)
                for wanted, found in zip(asked, (fault.number, fault.kind, fault.target), strict=True)
            )
        )
        if not ended and any(entry is not None for entry in asked):
            there_are = "; ".join(_named(fault) for fault in self.injected.all()) or "none"
            raise ControlError(f"no such fault is in force; in force: {there_are}", 404)
        return {"cleared": [fault.to_json() for fault in ended]}

    def running(self, instance_id: str) -> TrackedInstance:
        """Returns an instance that is pending or running.

        Raises:
            ControlError: there is none of this id.
        """
        tracked = self.instances.get(instance_id)
        if tracked is None or tracked.state not in (PENDING, RUNNING):
            living = ", ".join(one.id for one in self.instances if one.state in (PENDING, RUNNING)) or "none"
            raise ControlError(f"no instance {instance_id!r} is pending or running; there are: {living}", 404)
        return tracked

    def _at_host(self, kind: Kind, wanted: FaultRequest) -> Fault:
        tracked = self.running(wanted.target)
        other = self.running(wanted.other).id if wanted.other else None
        if other and kind != "partition":
            raise ControlError(f"{kind} is a fault of one instance; only partition takes another one")
        if other == tracked.id:
            raise ControlError("a partition from itself is not possible; name another instance")
        return self.injected.inject(kind, tracked.id, wanted.for_s, other=other, boot=tracked.boot)

    @staticmethod
    def _check_target(kind: Kind, target: str) -> None:
        if kind == "throttle" and target and target not in SERVICES:
            raise ControlError(f"there is no service {target!r}; there are {', '.join(SERVICES)}")
        if kind == "no-capacity" and not is_flavor(target):
            raise ControlError(f"there is no instance type {target!r}; name one as EC2 does, such as c5.large")
        if kind in ("s3-down", "slow-api") and target:
            raise ControlError(f"{kind} takes no target")


def _named(fault: Fault) -> str:
    return f"{fault.number} ({fault.kind} {fault.target})".replace(" )", ")")
