"""A run's bill beside AWS's charges: which usage types are which lines."""

from __future__ import annotations

from datetime import date, datetime, timezone

import pytest
from rich.console import Console

from controller.record.report.against_aws import Compared, compared, comparison_table, days_of, line_of


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        ("BoxUsage:c5.large", "c5.large"),
        ("EUW3-SpotUsage:c5.large", "c5.large"),
        ("USE2-EBS:VolumeUsage.gp3", "volumes"),
        ("NatGateway-Hours", "NAT gateways"),
        ("EUC1-NatGateway-Bytes", "NAT gateway traffic"),
        ("USE1-PublicIPv4:InUseAddress", "public IPv4 addresses"),
        ("CPUCredits:t3", "surplus CPU credits"),
        ("USW2-DataTransfer-Regional-Bytes", "traffic between zones"),
        ("Requests-Tier1", "Requests-Tier1"),
    ],
)
def test_usage_types_of_all_regions_are_lines_of_the_bill(usage: str, line: str) -> None:
    assert line_of(usage) == line


def test_both_bills_stand_side_by_side_the_most_expensive_first() -> None:
    bill = {"c5.large": 1.0, "head, t3.micro": 0.02, "volumes": 0.01, "t3.micro": 0.0}
    charged = {"BoxUsage:c5.large": 1.05, "BoxUsage:t3.micro": 0.24, "Requests-Tier1": 0.001}
    assert compared(bill, charged) == [
        Compared("c5.large", 1.0, 1.05),
        Compared("t3.micro", 0.02, 0.24),
        Compared("volumes", 0.01, 0.0),
        Compared("Requests-Tier1", 0.0, 0.001),
    ]


def test_a_run_over_midnight_is_of_two_days() -> None:
    late = datetime(2026, 11, 21, 23, 50, tzinfo=timezone.utc).timestamp()
    assert days_of(late, late + 60) == (date(2026, 11, 21), date(2026, 11, 22))
    assert days_of(late, late + 1200) == (date(2026, 11, 21), date(2026, 11, 23))


def test_the_table_has_differences_and_a_sum() -> None:
    console = Console(width=100, record=True)
    lines = [Compared("c5.large", 1.0, 1.25), Compared("volumes", 0.5, 0.0)]
    console.print(comparison_table(lines, date(2026, 11, 21), date(2026, 11, 23)))
    told = console.export_text()
    assert "2026-11-21 to 2026-11-22 (UTC, whole days)" in " ".join(told.split())
    differences = [row.split("│")[-2].strip() for row in told.splitlines() if "│" in row]
    assert differences == ["$0.2500", "-$0.5000", "-$0.2500"]
