"""CPU credits at the edge, with CloudWatch's answers: one call, the latest figure of each node, and failures."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from botocore.stub import ANY, Stubber

from controller.domain import Credits
from controller.domain.errors import AwsError
from controller.edges.account.credits import AwsCredits

NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.utc).timestamp()


@pytest.fixture
def credits_(monkeypatch: pytest.MonkeyPatch) -> AwsCredits:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    return AwsCredits("eu-west-1")


def result(name: str, *points: tuple[float, float]) -> dict[str, Any]:
    """Points are minutes before noon, and values."""
    times = [datetime.fromtimestamp(NOON - 60 * minutes, timezone.utc) for minutes, _ in points]
    return {"Id": name, "Label": name, "Timestamps": times, "Values": [v for _, v in points], "StatusCode": "Complete"}


def test_the_latest_figures_of_all_nodes_come_from_one_call(credits_: AwsCredits) -> None:
    answers = [result("b0", (10, 24.0), (15, 30.0)), result("s0", (10, 0.0)), result("b1"), result("s1")]
    answers += [result("b2", (5, 0.0)), result("s2", (5, 7.5))]
    with Stubber(credits_._cloudwatch) as stub:
        request = {"StartTime": ANY, "EndTime": ANY, "ScanBy": "TimestampDescending", "MetricDataQueries": ANY}
        stub.add_response("get_metric_data", {"MetricDataResults": answers}, request)
        found = credits_.credits(["i-0", "i-1", "i-2"], NOON)
    assert found == {"i-0": Credits(24.0, 0.0, NOON - 600), "i-2": Credits(0.0, 7.5, NOON - 300)}


def test_each_node_is_asked_for_by_its_id(credits_: AwsCredits) -> None:
    asked: list[dict[str, Any]] = []
    credits_._cloudwatch.meta.events.register(
        "before-parameter-build.cloudwatch.GetMetricData", lambda params, **_: asked.append(params)
    )
    with Stubber(credits_._cloudwatch) as stub:
        stub.add_response("get_metric_data", {"MetricDataResults": []})
        credits_.credits(["i-0", "i-1"], NOON)
    queries = asked[0]["MetricDataQueries"]
    metrics = [(q["Id"], q["MetricStat"]["Metric"]) for q in queries]
    assert [(name, m["MetricName"], m["Dimensions"][0]["Value"]) for name, m in metrics] == [
        ("b0", "CPUCreditBalance", "i-0"),
        ("s0", "CPUSurplusCreditBalance", "i-0"),
        ("b1", "CPUCreditBalance", "i-1"),
        ("s1", "CPUSurplusCreditBalance", "i-1"),
    ]
    assert {q["MetricStat"]["Period"] for q in queries} == {300}


def test_a_failure_is_an_error_of_aws(credits_: AwsCredits) -> None:
    with Stubber(credits_._cloudwatch) as stub:
        stub.add_client_error("get_metric_data", "AccessDenied")
        with pytest.raises(AwsError, match="CPU credits"):
            credits_.credits(["i-0"], NOON)
