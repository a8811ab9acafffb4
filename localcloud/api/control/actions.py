"""The control API, under /_localcloud/: what tests do to a cloud that no AWS call can do.

GET  status                                        instances, groups, settings in force
POST capacity    {flavor: max nodes or null}       insufficient capacity beyond that many; null lifts the limit
POST quota       {quota code: vCPUs or null}       a service quota of EC2, such as L-1216C47A; null is the default
POST fail-boot   {flavor: true|"unreachable"|"terminated"|false}   new instances never answer, or die at launch
POST interrupt   {"instance_id": ..., "in_s": 120}  spot interruption: notice in the metadata, then termination
POST terminate   {"instance_id": ...}              the machine fails: its processes die, the instance terminates
POST spot-price  {flavor: dollars per hour}        a new spot price from now on
POST shutdown    {}                                end the cloud and all in it
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from localcloud.api.autoscaling.scaling import Scaling
from localcloud.api.ec2.lifecycle import PENDING, RUNNING, Machine, Machines
from localcloud.api.ec2.quotas import CODES
from localcloud.api.prices.spot import SpotPrices
from localcloud.settings import Settings

PREFIX = "/_localcloud/"
MAX_LIMIT = 1_000_000


class ControlError(Exception):
    """The request is wrong; the message says how to put it right."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Control:
    """Answers the control API. Every method is called with the API's lock held."""

    def __init__(
        self, settings: Settings, machines: Machines, scaling: Scaling, spot: SpotPrices, shutdown: Callable[[], None]
    ) -> None:
        self.settings = settings
        self.machines = machines
        self.scaling = scaling
        self.spot = spot
        self._shutdown = shutdown

    def answer(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        """The answer to a request as a JSON object; raises ControlError."""
        name = path.removeprefix(PREFIX).strip("/")
        if method == "GET" and name == "status":
            return self.status()
        actions = {
            "capacity": self._set_capacity,
            "quota": self._set_quota,
            "fail-boot": self._set_fail_boot,
            "interrupt": self._interrupt,
            "terminate": self._terminate,
            "spot-price": self._set_spot_price,
            "shutdown": self._end,
        }
        if name not in (*actions, "status"):
            raise ControlError(f"no such control: {name}; there are GET status, POST {', '.join(actions)}", 404)
        if method != "POST" or name == "status":
            raise ControlError(f"{name} is not for {method}", 405)
        return actions[name](_object(body))

    def status(self) -> dict[str, Any]:
        """Everything at a glance."""
        return {
            "endpoint": self.settings.endpoint,
            "region": self.settings.region,
            "vpc_cidr": self.settings.vpc_cidr,
            "capacity": self.machines.capacity,
            "vcpu_quotas": self.machines.vcpu_quotas,
            "fail_boot": self.machines.fail_boot,
            "instances": [self._instance(machine) for machine in self.machines],
            "groups": [
                {"name": group.name, "desired": group.desired_capacity, "instances": len(group.instance_states)}
                for group in self.scaling.backend.autoscaling_groups.values()
            ],
        }

    def _instance(self, machine: Machine) -> dict[str, Any]:
        instance, report = machine.instance, machine.report
        tags = {tag["key"]: tag["value"] for tag in instance.get_tags()}
        return {
            "instance_id": instance.id,
            "ip": instance.private_ip,
            "flavor": instance.instance_type,
            "speed": self.settings.speed_of(instance.instance_type),
            "market": "spot" if instance.lifecycle == "spot" else "on-demand",
            "state": machine.state,
            "host": report.state if report else None,
            "detail": report.detail if report else "",
            "user_data": report.user_data if report else None,
            "group": tags.get("aws:autoscaling:groupName"),
            "interrupted_at": machine.notice.time if machine.notice else None,
            "tags": tags,
        }

    def _set_capacity(self, wanted: dict[str, Any]) -> dict[str, Any]:
        _set_limits(self.machines.capacity, wanted, "the capacity of")
        return {"capacity": self.machines.capacity}

    def _set_quota(self, wanted: dict[str, Any]) -> dict[str, Any]:
        unknown = set(wanted) - set(CODES)
        if unknown:
            raise ControlError(f"no quota {', '.join(sorted(unknown))}; there are {', '.join(CODES)}")
        _set_limits(self.machines.vcpu_quotas, wanted, "the vCPUs of quota")
        return {"vcpu_quotas": self.machines.vcpu_quotas}

    def _set_fail_boot(self, wanted: dict[str, Any]) -> dict[str, Any]:
        modes = {True: "unreachable", "unreachable": "unreachable", "terminated": "terminated", False: None, None: None}
        for flavor, mode in wanted.items():
            if not isinstance(mode, (bool, str, type(None))) or mode not in modes:
                raise ControlError(f'fail-boot of {flavor} is true, "unreachable", "terminated" or false, not {mode!r}')
        for flavor, mode in wanted.items():
            self.machines.fail_boot.pop(flavor, None)
            chosen = modes[mode]
            if chosen:
                self.machines.fail_boot[flavor] = chosen  # type: ignore[assignment]
        return {"fail_boot": self.machines.fail_boot}

    def _interrupt(self, wanted: dict[str, Any]) -> dict[str, Any]:
        in_s = wanted.get("in_s", self.settings.spot_notice_s)
        if isinstance(in_s, bool) or not isinstance(in_s, (int, float)) or in_s < 0:
            raise ControlError(f"in_s must be seconds from now, not {in_s!r}")
        machine = self._living(wanted)
        notice = self.machines.interrupt(machine, in_s)
        return {"instance_id": machine.instance.id, "action": notice.action, "time": notice.time}

    def _terminate(self, wanted: dict[str, Any]) -> dict[str, Any]:
        machine = self._living(wanted)
        self.machines.terminate(machine.instance, "The machine failed", "Server.InternalError")
        return {"instance_id": machine.instance.id, "state": machine.state}

    def _living(self, wanted: dict[str, Any]) -> Machine:
        machine = self.machines.get(str(wanted.get("instance_id")))
        if machine is None or machine.state not in (PENDING, RUNNING):
            raise ControlError(f"no instance {wanted.get('instance_id')!r} is pending or running", 404)
        return machine

    def _set_spot_price(self, wanted: dict[str, Any]) -> dict[str, Any]:
        for flavor, price in wanted.items():
            if isinstance(price, bool) or not isinstance(price, (int, float)) or price <= 0:
                raise ControlError(f"the spot price of {flavor} must be positive dollars per hour, not {price!r}")
        for flavor, price in wanted.items():
            self.spot.set(flavor, float(price))
        return {"spot_prices": wanted}

    def _end(self, wanted: dict[str, Any]) -> dict[str, Any]:
        self._shutdown()
        return {"shutdown": "under way"}


def _set_limits(limits: dict[str, int], wanted: dict[str, Any], what: str) -> None:
    """Take over all wanted limits or none; null lifts one."""
    for name, limit in wanted.items():
        if limit is not None and (type(limit) is not int or not 0 <= limit <= MAX_LIMIT):
            raise ControlError(f"{what} {name} must be a whole number from 0 up, or null, not {limit!r}")
    for name, limit in wanted.items():
        if limit is None:
            limits.pop(name, None)
        else:
            limits[name] = limit


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body or b"{}")
    except ValueError as error:
        raise ControlError(f"the body is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ControlError(f"the body must be a JSON object, not {document!r}")
    return document
