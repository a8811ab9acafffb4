"""The CPU credits of a burstable node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Credits:
    """What CloudWatch last told of a node. A credit is one vCPU at full speed for a minute.

    Attributes:
        balance: The credits that the node may still spend (CPUCreditBalance).
        surplus: The credits that it has spent beyond its own (CPUSurplusCreditBalance). Above 0 only in unlimited mode.
        at: The time that CloudWatch gives the figures, seconds since the epoch. They are up to ten minutes old.
    """

    balance: float
    surplus: float
    at: float
