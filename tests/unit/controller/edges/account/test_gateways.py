"""NAT gateways at the edge, with CloudWatch's answers: the bytes of all of them in one call, pages, and failures."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from botocore.stub import ANY, Stubber

from controller.domain.errors import AwsError
from controller.edges.account.gateways import AwsGateways

NOON = datetime(2026, 11, 24, 12, tzinfo=timezone.utc).timestamp()


@pytest.fixture
def gateways(monkeypatch: pytest.MonkeyPatch) -> AwsGateways:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    return AwsGateways("eu-west-1")


def time_of(minutes_before_noon: float) -> datetime:
    return datetime.fromtimestamp(NOON - 60 * minutes_before_noon, timezone.utc)


def result(name: str, *points: tuple[float, float]) -> dict[str, Any]:
    """Points are minutes before noon, and bytes."""
    times, values = [time_of(minutes) for minutes, _ in points], [count for _, count in points]
    return {"Id": name, "Label": name, "Timestamps": times, "Values": values, "StatusCode": "Complete"}


def test_what_all_gateways_receive_from_both_sides_is_summed_by_period_in_one_call(gateways: AwsGateways) -> None:
    answers = [result("g0m0", (10, 5.0), (15, 7.0)), result("g0m1", (10, 100.0)), result("g1m0", (15, 1000.0))]
    with Stubber(gateways._cloudwatch) as stub:
        request = {"MetricDataQueries": ANY, "StartTime": time_of(20), "EndTime": time_of(0)}
        stub.add_response("get_metric_data", {"MetricDataResults": [*answers, result("g1m1")]}, request)
        passed = gateways.bytes_by_time(["nat-0", "nat-1"], NOON - 17 * 60, NOON - 1)
    assert passed == {NOON - 600: 105.0, NOON - 900: 1007.0}


def test_each_gateway_is_asked_for_by_its_id(gateways: AwsGateways) -> None:
    asked: list[dict[str, Any]] = []
    gateways._cloudwatch.meta.events.register(
        "before-parameter-build.cloudwatch.GetMetricData", lambda params, **_: asked.append(params)
    )
    with Stubber(gateways._cloudwatch) as stub:
        stub.add_response("get_metric_data", {"MetricDataResults": []})
        assert gateways.bytes_by_time(["nat-0", "nat-1"], NOON, NOON) == {}
    queries = [(query["Id"], query["MetricStat"]) for query in asked[0]["MetricDataQueries"]]
    assert [(name, q["Metric"]["MetricName"], q["Metric"]["Dimensions"]) for name, q in queries] == [
        (f"g{gateway}m{number}", metric, [{"Name": "NatGatewayId", "Value": f"nat-{gateway}"}])
        for gateway in (0, 1)
        for number, metric in enumerate(("BytesInFromSource", "BytesInFromDestination"))
    ]
    assert {(q["Metric"]["Namespace"], q["Period"], q["Stat"]) for _, q in queries} == {("AWS/NATGateway", 300, "Sum")}


def test_an_answer_of_several_pages_counts_as_a_whole(gateways: AwsGateways) -> None:
    with Stubber(gateways._cloudwatch) as stub:
        stub.add_response("get_metric_data", {"MetricDataResults": [result("g0m0", (5, 1.0))], "NextToken": "more"})
        stub.add_response("get_metric_data", {"MetricDataResults": [result("g0m0", (10, 2.0))]})
        assert gateways.bytes_by_time(["nat-0"], NOON - 900, NOON) == {NOON - 300: 1.0, NOON - 600: 2.0}


def test_a_failure_is_an_error_of_aws(gateways: AwsGateways) -> None:
    with Stubber(gateways._cloudwatch) as stub:
        stub.add_client_error("get_metric_data", "AccessDenied")
        with pytest.raises(AwsError, match="NAT gateways"):
            gateways.bytes_by_time(["nat-0"], NOON, NOON)
