"""The bill of a run, from what each look found to pay for."""

from __future__ import annotations

import pytest

from controller.domain import Fleet
from controller.domain.prices.bill import NOT_ITEMISED
from controller.record.journal.summary import Summary
from controller.record.report.bill import bill

FLEET = Fleet({"c5.large": 1})


def found(at: float, usd_per_hour: float, **lines: float) -> Summary:
    return Summary(at, FLEET, usd_per_hour, paid_usd_per_hour=lines)


def test_what_a_look_finds_is_paid_until_the_next_and_the_last_until_the_end() -> None:
    looks = [found(0.0, 3.6, head=1.2, nodes=2.4), found(1000.0, 1.2, head=1.2)]
    assert bill(looks, {"nodes": 0.5}, 2000.0) == pytest.approx({"nodes": 2.4 / 3.6 + 0.5, "head": 2.4 / 3.6})


def test_the_most_expensive_line_comes_first() -> None:
    assert list(bill([found(0.0, 6.0, a=1.0, b=3.0, c=2.0)], {}, 3600.0)) == ["b", "c", "a"]


def test_journals_of_older_versions_have_a_sum_only() -> None:
    looks = [found(0.0, 3.6), found(1000.0, 3.6, head=3.6)]
    assert bill(looks, {}, 2000.0) == pytest.approx({NOT_ITEMISED: 1.0, "head": 1.0})


def test_an_end_before_the_last_look_costs_nothing_and_no_look_is_no_bill() -> None:
    assert bill([found(1000.0, 3.6, head=3.6)], {}, 500.0) == {}
    assert bill([], {}, 500.0) == {}
