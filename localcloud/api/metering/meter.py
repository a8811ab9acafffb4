"""The bill of a cloud: what ran, for how long, and what it costs, as AWS would charge it.

An instance is paid for while it runs, for a minute at least, and its volume from its launch to its end. NAT gateways
and public addresses are paid for while they exist, and surplus CPU credits where they are not earned back. What has no
price in the file of prices is listed and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from moto.ec2.models import EC2Backend

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.states import RUNNING, TERMINATED
from localcloud.api.ec2.tracked_instance import TrackedInstance
from localcloud.api.metering.accounts import account_of
from localcloud.api.prices.spot_prices import SpotPrices
from localcloud.link.instance_dir import InstanceDir

SECONDS_PER_HOUR = 3600.0
HOURS_PER_MONTH = 730.0
CREDITS_PER_VCPU_HOUR = 60.0
SURPLUS = "surplus-vcpu-hour"
"""The name of the price of surplus credits, by vCPU-hour."""


@dataclass
class Line:
    """One line of the bill: so many of a unit, and the US dollars that they cost."""

    unit: str
    quantity: float = 0.0
    usd: float = 0.0


class Meter:
    """Adds up what there is. `tick` is called with the API's lock held.

    Args:
        instances: All instances.
        ec2: moto's EC2, for NAT gateways and addresses.
        prices: US dollars an hour of instance types on demand, and what else is in the file of prices.
        spot: The spot prices.
        directory: Returns the folder of an instance.
        least_s: How long each start of an instance is charged at least. EC2 charges a minute.
    """

    def __init__(
        self,
        instances: Instances,
        ec2: EC2Backend,
        prices: Mapping[str, float],
        spot: SpotPrices,
        directory: Callable[[str], InstanceDir],
        least_s: float = 60.0,
    ) -> None:
        self._instances, self._ec2, self._prices, self._spot = instances, ec2, prices, spot
        self._directory, self._least_s = directory, least_s
        self._at_s: float | None = None
        self._ran_s: dict[tuple[str, int], float] = {}
        self._lines: dict[str, Line] = {}
        self._surplus: dict[str, float] = {}

    def tick(self, now_s: float) -> None:
        """Adds what ran since the last call.

        Args:
            now_s: Seconds of a clock that is never set back.
        """
        passed_s = 0.0 if self._at_s is None else now_s - self._at_s
        self._at_s = now_s
        hours = passed_s / SECONDS_PER_HOUR
        for tracked in self._instances:
            if tracked.state == RUNNING:
                self._run(tracked, passed_s)
                self._note_surplus(tracked)
            if tracked.state != TERMINATED:
                self._add(
                    "volumes", "GB-hours", _volume_gb(tracked) * hours, self._of("gp3-gb-month") / HOURS_PER_MONTH
                )
        gateways = [one for one in self._ec2.nat_gateways.values() if one.state == "available"]
        self._add("NAT gateways", "hours", len(gateways) * hours, self._of("nat-gateway"))
        self._add("public IPv4 addresses", "hours", len(self._addresses()) * hours, self._of("public-ipv4"))

    def bill(self) -> dict[str, Any]:
        """Returns the lines so far, and their sum in US dollars."""
        lines = dict(self._lines)
        vcpu_hours = sum(self._surplus.values()) / CREDITS_PER_VCPU_HOUR
        if vcpu_hours > 0:
            lines["surplus CPU credits"] = Line("vCPU-hours", vcpu_hours, vcpu_hours * self._of(SURPLUS))
        return {
            "lines": {what: asdict(line) for what, line in sorted(lines.items())},
            "usd": sum(line.usd for line in lines.values()),
        }

    def _run(self, tracked: TrackedInstance, passed_s: float) -> None:
        """Charges an instance for the time that it ran, from its first moment on for a minute."""
        start = (tracked.id, tracked.boot)
        ran_s = self._ran_s.get(start)
        least_s = self._least_s
        charged_s = least_s if ran_s is None else max(0.0, ran_s + passed_s - least_s) - max(0.0, ran_s - least_s)
        self._ran_s[start] = 0.0 if ran_s is None else ran_s + passed_s
        market = "spot" if tracked.is_spot else "on-demand"
        usd_per_hour = self._spot_price(tracked.flavor) if tracked.is_spot else self._of(tracked.flavor)
        self._add(f"{tracked.flavor} ({market})", "hours", charged_s / SECONDS_PER_HOUR, usd_per_hour)

    def _note_surplus(self, tracked: TrackedInstance) -> None:
        """Keeps how many surplus credits an instance has spent and not earned back."""
        account = account_of(self._directory(tracked.id).credits)
        if account is not None:
            self._surplus[tracked.id] = account.surplus

    def _add(self, what: str, unit: str, quantity: float, usd: float) -> None:
        if quantity > 0:
            line = self._lines.setdefault(what, Line(unit))
            line.quantity += quantity
            line.usd += quantity * usd

    def _of(self, name: str) -> float:
        return self._prices.get(name, 0.0)

    def _spot_price(self, flavor: str) -> float:
        newest = self._spot.describe([flavor], self._spot.zones[:1], [])
        return float(newest[0]["SpotPrice"]) if newest else self._of(flavor)

    def _addresses(self) -> set[str]:
        """Returns the public addresses: those of instances that run, and those that are reserved."""
        running = {one.instance.public_ip for one in self._instances if one.state == RUNNING}
        reserved = {one.public_ip for one in self._ec2.addresses}
        return {str(address) for address in running | reserved if address}


def _volume_gb(tracked: TrackedInstance) -> float:
    devices = tracked.instance.block_device_mapping.values()
    return float(sum(int(device.size or 0) for device in devices))
