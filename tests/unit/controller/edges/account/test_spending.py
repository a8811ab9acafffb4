"""Cost Explorer at the edge, with an answer as AWS gives it: two pages, two days, groups by usage type."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from botocore.stub import Stubber

from controller.domain.errors import AwsError
from controller.edges.account.spending import AwsSpending, Charged

REQUEST = {
    "TimePeriod": {"Start": "2026-11-21", "End": "2026-11-23"},
    "Granularity": "DAILY",
    "Metrics": ["UnblendedCost"],
    "Filter": {"Tags": {"Key": "centavo:cluster", "Values": ["centavo"]}},
    "GroupBy": [{"Type": "DIMENSION", "Key": "USAGE_TYPE"}],
}


@pytest.fixture
def spending(monkeypatch: pytest.MonkeyPatch) -> AwsSpending:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    return AwsSpending()


def day(number: int, *, estimated: bool, **usd: str) -> dict[str, Any]:
    groups = [
        {"Keys": [usage.replace("_", ":")], "Metrics": {"UnblendedCost": {"Amount": amount, "Unit": "USD"}}}
        for usage, amount in usd.items()
    ]
    period = {"Start": f"2026-11-{number}", "End": f"2026-11-{number + 1}"}
    return {"TimePeriod": period, "Total": {}, "Groups": groups, "Estimated": estimated}


def test_all_days_and_pages_add_up_by_usage_type(spending: AwsSpending) -> None:
    first = {"ResultsByTime": [day(21, estimated=False, BoxUsage_c5="0.5100000000")], "NextPageToken": "more"}
    second = {"ResultsByTime": [day(22, estimated=True, BoxUsage_c5="0.1700000000", EBS_gp3="0.0123")]}
    with Stubber(spending._explorer) as stub:
        stub.add_response("get_cost_and_usage", first, REQUEST)
        stub.add_response("get_cost_and_usage", second, {**REQUEST, "NextPageToken": "more"})
        found = spending.charged("centavo", date(2026, 11, 21), date(2026, 11, 23))
        stub.assert_no_pending_responses()
    assert found == Charged({"BoxUsage:c5": pytest.approx(0.68), "EBS:gp3": 0.0123}, is_estimated=True)


def test_a_refusal_is_an_error_of_aws(spending: AwsSpending) -> None:
    with Stubber(spending._explorer) as stub:
        stub.add_client_error("get_cost_and_usage", "AccessDeniedException")
        with pytest.raises(AwsError, match="what the cluster was charged"):
            spending.charged("centavo", date(2026, 11, 21), date(2026, 11, 23))
