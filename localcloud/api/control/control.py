"""The actions of the control API."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from localcloud.api.autoscaling.scaling import Scaling
from localcloud.api.calls import Calls
from localcloud.api.control.faults import FaultControl
from localcloud.api.control.requests import (
    CAPACITY,
    FAIL_BOOT,
    INTERRUPT,
    QUOTA,
    REBALANCE,
    REBOOT,
    REPLACE,
    SHUTDOWN,
    SPOT_PRICE,
    TERMINATE,
    ControlError,
    Limits,
)
from localcloud.api.control.status import status_of
from localcloud.api.ec2.instances import INTERNAL_ERROR, Instances
from localcloud.api.ec2.quotas import CODES
from localcloud.api.ec2.states import RUNNING
from localcloud.api.prices.spot_prices import SpotPrices
from localcloud.settings import Settings

PREFIX = "/_localcloud/"
READING = ("status", "faults", "calls", "bill")


class Control:
    """Answers the control API. Every method is called with the API's lock held."""

    def __init__(
        self,
        settings: Settings,
        token: str,
        instances: Instances,
        scaling: Scaling,
        spot: SpotPrices,
        calls: Calls,
        shutdown: Callable[[], None],
        bill: Callable[[], dict[str, Any]],
    ) -> None:
        self.settings = settings
        self.token = token
        self.instances = instances
        self.scaling = scaling
        self.spot = spot
        self.calls = calls
        self.faults = FaultControl(instances.injected, instances)
        self._shutdown = shutdown
        self._bill = bill

    def admit(self, authorization: str) -> None:
        """Lets a request with the cloud's token pass.

        Raises:
            ControlError: the token is missing or wrong.
        """
        if not hmac.compare_digest(authorization.encode(), f"Bearer {self.token}".encode()):
            raise ControlError(
                "the control API asks for the header `Authorization: Bearer TOKEN`; `python -m localcloud env` prints "
                "the token as LOCALCLOUD_TOKEN",
                403,
            )

    def answer(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        """Returns the answer to a request as a JSON object.

        Raises:
            ControlError: the request is refused.
        """
        name = path.removeprefix(PREFIX).strip("/")
        if method == "GET" and name == "status":
            return status_of(self.settings, self.instances, self.scaling.backend)
        if method == "GET" and name == "faults":
            return self.faults.list()
        if method == "GET" and name == "calls":
            return {"calls": self.calls.made()}
        if method == "GET" and name == "bill":
            return self._bill()
        actions = {
            "capacity": self._set_capacity,
            "quota": self._set_quota,
            "fail-boot": self._set_fail_boot,
            "interrupt": self._interrupt,
            "rebalance": self._rebalance,
            "terminate": self._terminate,
            "reboot": self._reboot,
            "replace": self._replace,
            "fault": self.faults.inject,
            "clear": self.faults.clear,
            "spot-price": self._set_spot_price,
            "shutdown": self._end,
        }
        if name not in (*actions, *READING):
            raise ControlError(
                f"there is no action {name}; there are GET {', GET '.join(READING)}, POST {', '.join(actions)}", 404
            )
        if method != "POST" or name in READING:
            raise ControlError(f"{name} does not take {method}; use {'GET' if name in READING else 'POST'}", 405)
        return actions[name](body)

    def _set_capacity(self, body: bytes) -> dict[str, Any]:
        capacity = self.instances.faults.capacity
        _take_over(capacity, CAPACITY.parse(body))
        return {"capacity": capacity}

    def _set_quota(self, body: bytes) -> dict[str, Any]:
        wanted = QUOTA.parse(body)
        unknown = set(wanted) - set(CODES)
        if unknown:
            raise ControlError(f"there is no quota {', '.join(sorted(unknown))}; there are {', '.join(CODES)}")
        quotas = self.instances.faults.vcpu_quotas
        _take_over(quotas, wanted)
        return {"vcpu_quotas": quotas}

    def _set_fail_boot(self, body: bytes) -> dict[str, Any]:
        failures = self.instances.faults.boot_failures
        for flavor, wanted in FAIL_BOOT.parse(body).items():
            failures.pop(flavor, None)
            if wanted:
                failures[flavor] = "unreachable" if wanted is True else wanted
        return {"fail_boot": failures}

    def _interrupt(self, body: bytes) -> dict[str, Any]:
        wanted = INTERRUPT.parse(body)
        tracked = self.faults.running(wanted.instance_id)
        in_s = self.settings.spot_notice_s if wanted.in_s is None else wanted.in_s
        notice = self.instances.interrupt(tracked, in_s)
        return {"instance_id": tracked.id, "action": notice.action, "time": notice.time}

    def _rebalance(self, body: bytes) -> dict[str, Any]:
        tracked = self.faults.running(REBALANCE.parse(body).instance_id)
        return {"instance_id": tracked.id, "time": self.instances.recommend_rebalance(tracked)}

    def _terminate(self, body: bytes) -> dict[str, Any]:
        tracked = self.faults.running(TERMINATE.parse(body).instance_id)
        self.instances.terminate(tracked.instance, "The machine failed", INTERNAL_ERROR)
        return {"instance_id": tracked.id, "state": tracked.state}

    def _reboot(self, body: bytes) -> dict[str, Any]:
        tracked = self.faults.running(REBOOT.parse(body).instance_id)
        if tracked.state != RUNNING:
            raise ControlError(f"{tracked.id} does not run yet, so it cannot be rebooted", 409)
        self.instances.reboot(tracked.instance)
        return {"instance_id": tracked.id, "boot": tracked.boot}

    def _replace(self, body: bytes) -> dict[str, Any]:
        tracked = self.faults.running(REPLACE.parse(body).instance_id)
        for group in self.scaling.backend.autoscaling_groups.values():
            for member in group.instance_states:
                if member.instance.id == tracked.id:
                    member.health_status = "Unhealthy"
                    return {"instance_id": tracked.id, "group": group.name}
        raise ControlError(f"{tracked.id} is in no Auto Scaling group, so nothing replaces it", 409)

    def _set_spot_price(self, body: bytes) -> dict[str, Any]:
        prices = SPOT_PRICE.parse(body)
        for flavor, usd_per_hour in prices.items():
            self.spot.set(flavor, usd_per_hour)
        return {"spot_prices": prices}

    def _end(self, body: bytes) -> dict[str, Any]:
        SHUTDOWN.parse(body)
        self._shutdown()
        return {"shutdown": "under way"}


def _take_over(limits: dict[str, int], wanted: Limits) -> None:
    """Sets limits; None removes one."""
    for name, limit in wanted.items():
        if limit is None:
            limits.pop(name, None)
        else:
            limits[name] = limit
