"""The bill of a run beside what AWS has charged for the cluster, line by line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

from rich.table import Table

from controller.domain.prices.bill import ADDRESSES, GATEWAYS, HEAD, SURPLUS, TRAFFIC, VOLUMES, ZONES
from controller.words.numbers import usd

_USAGES = (
    (r"(?:BoxUsage|SpotUsage|UnusedBox):(.+)", r"\1"),
    (r"EBS:VolumeUsage\..+", VOLUMES),
    (r"NatGateway-Hours", GATEWAYS),
    (r"NatGateway-Bytes", TRAFFIC),
    (r"PublicIPv4:.+", ADDRESSES),
    (r"CPUCredits:.+", SURPLUS),
    (r"DataTransfer-Regional-Bytes", ZONES),
)
"""Usage types without the code of the region, and the lines of the bill that they are."""


@dataclass(frozen=True)
class Compared:
    """One line of both bills, in US dollars."""

    line: str
    ours: float
    aws: float


def days_of(started_at: float, ended_at: float) -> tuple[date, date]:
    """Returns the first day of a run and the day after its last one, UTC: Cost Explorer tells whole days."""
    first, last = (datetime.fromtimestamp(at, timezone.utc).date() for at in (started_at, ended_at))
    return first, last + timedelta(days=1)


def compared(bill: Mapping[str, float], charged: Mapping[str, float]) -> list[Compared]:
    """Returns both bills line by line, the most expensive first.

    AWS does not tell the hours of a head from those of workers of the same type, so that both are one line.

    Args:
        bill: The run's, by line.
        charged: What AWS has charged, by usage type.
    """
    ours: defaultdict[str, float] = defaultdict(float)
    aws: defaultdict[str, float] = defaultdict(float)
    for line, dollars in bill.items():
        ours[line.removeprefix(HEAD)] += dollars
    for usage, dollars in charged.items():
        aws[line_of(usage)] += dollars
    lines = [Compared(line, ours[line], aws[line]) for line in {*ours, *aws} if ours[line] or aws[line]]
    return sorted(lines, key=lambda one: (-max(one.ours, one.aws), one.line))


def line_of(usage: str) -> str:
    """Returns the line of the bill that a usage type belongs to; one of its own where it belongs to none."""
    plain = re.sub(r"^[A-Z]{2,4}[0-9]*-", "", usage)
    for pattern, line in _USAGES:
        match = re.fullmatch(pattern, plain)
        if match:
            return match.expand(line)
    return plain


def comparison_table(lines: list[Compared], first: date, end: date) -> Table:
    """Returns the table that a person reads."""
    until = end - timedelta(days=1)
    days = f"{first}" if until == first else f"{first} to {until}"
    table = Table(
        title=f"This run beside AWS's charges for the cluster, {days} (UTC, whole days)", title_justify="left"
    )
    table.add_column("for")
    for name in ("this run", "AWS", "difference"):
        table.add_column(name, justify="right")
    total = Compared("in all", sum(one.ours for one in lines), sum(one.aws for one in lines))
    for one in [*lines, total]:
        sign = "-" if one.aws < one.ours else ""
        table.add_row(one.line, usd(one.ours), usd(one.aws), f"{sign}{usd(abs(one.aws - one.ours))}")
    return table
