"""What is known of burstable instance types: `burstable.json`, which names its source.

No API of EC2 tells the baseline of a type (DescribeInstanceTypes tells only that there is one).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from controller.domain import Credits, Flavor

FILE = Path(__file__).with_name("burstable.json")
UNLIMITED = "unlimited"
CREDITS_PER_VCPU_HOUR = 60.0
"""A credit is one vCPU at full speed for a minute."""


@dataclass(frozen=True)
class Burstable:
    """A burstable instance type.

    Attributes:
        vcpus: How many vCPUs it has.
        credits_per_hour: How many credits a node earns in an hour, whether it works or not.
        launch_credits: How many credits a node has from its launch.
        is_unlimited: Whether AWS launches it in unlimited mode unless told otherwise.
        surplus_usd_per_vcpu_hour: What a vCPU-hour of surplus credits costs, on Linux.
    """

    vcpus: int
    credits_per_hour: float
    launch_credits: float
    is_unlimited: bool
    surplus_usd_per_vcpu_hour: float

    @property
    def baseline_share(self) -> float:
        """The share of its full speed that the credits which it earns sustain."""
        return self.credits_per_hour / (CREDITS_PER_VCPU_HOUR * self.vcpus)


def burstable(instance_type: str) -> Burstable | None:
    """Returns what is known of a burstable type; None for all other types."""
    family, _, size = instance_type.partition(".")
    known = _families().get(family, {})
    figures = known.get("sizes", {}).get(size)
    if figures is None:
        return None
    is_unlimited = known["mode"] == UNLIMITED
    return Burstable(
        vcpus=figures["vcpus"],
        credits_per_hour=figures["credits_per_hour"],
        launch_credits=known["launch_credits_per_vcpu"] * figures["vcpus"],
        is_unlimited=is_unlimited,
        surplus_usd_per_vcpu_hour=known["surplus_usd_per_vcpu_hour"],
    )


def with_credits(flavor: Flavor, cpu_credits: str | None) -> Flavor:
    """Returns a flavor with what is known of its CPU credits.

    A node that is launched in unlimited mode gets no launch credits (EC2 User Guide, "Standard mode concepts").

    Args:
        flavor: The flavor, named as its instance type.
        cpu_credits: The mode that its launch template asks for: `standard` or `unlimited`. None: AWS's default.
    """
    known = burstable(flavor.name)
    if known is None:
        return flavor
    is_unlimited = known.is_unlimited if cpu_credits is None else cpu_credits == UNLIMITED
    return replace(
        flavor,
        vcpus=flavor.vcpus or known.vcpus,
        burstable=True,
        baseline_share=known.baseline_share,
        launch_credits=0.0 if is_unlimited else known.launch_credits,
        is_unlimited=is_unlimited,
        surplus_usd_per_vcpu_hour=known.surplus_usd_per_vcpu_hour,
    )


def other_modes(asked: Mapping[str, str | None]) -> dict[str, str]:
    """Returns the modes that are not AWS's default ones, by instance type.

    Args:
        asked: By instance type the mode that its launch template asks for; None: AWS's default.
    """
    known = {name: (burstable(name), mode) for name, mode in asked.items()}
    return {
        name: mode
        for name, (kind, mode) in known.items()
        if kind is not None and mode is not None and (mode == UNLIMITED) != kind.is_unlimited
    }


def surplus_usd_per_hour(instance_type: str, cpu_credits: str | None, told: Credits | None) -> float:
    """Returns what a node that trains pays for surplus credits, US dollars an hour; 0 while it has credits of its own.

    A node pays for surplus credits that it has not earned back when it ends (EC2 User Guide, "Unlimited mode
    concepts"). A node that trains earns none back until then.

    Args:
        instance_type: The type of the node.
        cpu_credits: The mode that its launch template asks for; None: AWS's default.
        told: What CloudWatch tells of the node. Only a node in unlimited mode has surplus credits.
    """
    flavor = with_credits(Flavor(instance_type), cpu_credits)
    if told is not None and told.surplus > 0:
        return replace(flavor, is_unlimited=True).surplus_usd_per_hour
    return 0.0 if told is not None and told.balance > 0 else flavor.surplus_usd_per_hour


@cache
def _families() -> dict[str, Any]:
    families: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))["families"]
    return families
