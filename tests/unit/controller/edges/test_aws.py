"""The AWS edge against moto's server: instances by tag, protection, and what scaling could not do."""

from __future__ import annotations

import socket
from datetime import datetime, timezone
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from controller.domain.errors import AwsError
from controller.edges import aws
from controller.edges.aws import Aws, speak
from tests.unit.controller.edges.bucket.on_moto import REGION, moto

__all__ = ["moto"]


@pytest.fixture
def group(moto: str) -> str:
    """A group of three protected c5.large, tagged as Terraform does it."""
    ec2, groups = boto3.client("ec2", region_name=REGION), boto3.client("autoscaling", region_name=REGION)
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    ec2.create_launch_template(
        LaunchTemplateName="flavor", LaunchTemplateData={"ImageId": image, "InstanceType": "c5.large"}
    )
    groups.create_auto_scaling_group(
        AutoScalingGroupName="c-c5.large",
        MinSize=0,
        MaxSize=9,
        DesiredCapacity=3,
        VPCZoneIdentifier=subnet,
        LaunchTemplate={"LaunchTemplateName": "flavor"},
        NewInstancesProtectedFromScaleIn=True,
        Tags=[
            {"Key": key, "Value": value, "PropagateAtLaunch": True}
            for key, value in (("centavo:cluster", "c"), ("centavo:role", "worker"), ("centavo:flavor", "c5.large"))
        ],
    )
    return "c-c5.large"


def test_the_instances_of_the_cluster_are_listed_with_role_flavor_and_address(group: str) -> None:
    aws = Aws(REGION)
    found = aws.instances("c")
    assert [(i.flavor, i.role, i.is_running) for i in found] == [("c5.large", "worker", True)] * 3
    assert all(i.private_ip for i in found)
    assert aws.instances("another") == ()


def test_an_instance_tells_how_it_was_bought() -> None:
    raw = {
        "InstanceId": "i-1",
        "InstanceType": "a",
        "State": {"Name": "running"},
        "LaunchTime": datetime.now(timezone.utc),
    }
    assert not aws._instance(raw).is_on_spot
    assert aws._instance({**raw, "InstanceLifecycle": "spot"}).is_on_spot
    assert not aws._instance({**raw, "InstanceLifecycle": "scheduled"}).is_on_spot


def test_what_a_look_asks_of_ec2_is_the_same_for_three_nodes_and_for_sixty(group: str) -> None:
    aws = Aws(REGION)
    calls: list[str] = []
    for client in (aws._ec2, aws._groups):
        client.meta.events.register("before-call", lambda model, **_: calls.append(model.name))

    def asked(nodes: int) -> list[str]:
        groups = boto3.client("autoscaling", region_name=REGION)
        groups.update_auto_scaling_group(AutoScalingGroupName=group, MaxSize=99, DesiredCapacity=nodes)
        calls.clear()
        assert len(aws.instances("c")) == nodes and aws.desired([group]) == {group: nodes}
        aws.failures(group, 0.0)
        return list(calls)

    assert asked(3) == asked(60) == ["DescribeInstances", "DescribeAutoScalingGroups", "DescribeScalingActivities"]


def test_exactly_the_instances_whose_protection_is_lifted_end_when_capacity_is_lowered(group: str) -> None:
    aws = Aws(REGION)
    doomed = [i.instance_id for i in aws.instances("c")][1:]
    aws.set_protection(group, [*doomed, "i-that-is-gone"], protected=False)
    boto3.client("autoscaling", region_name=REGION).set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=1)
    assert aws.desired([group]) == {group: 1}
    assert {i.instance_id for i in aws.instances("c")}.isdisjoint(doomed)
    assert len(aws.instances("c")) == 1


def test_an_instance_whose_protection_was_lifted_before_is_protected_again(group: str) -> None:
    """It was to leave, that failed, and it has taken a lost node's place meanwhile."""
    aws = Aws(REGION)
    first, _, last = [i.instance_id for i in aws.instances("c")]
    aws.set_protection(group, [first], protected=False)
    aws.set_protection(group, [last], protected=False)
    found = boto3.client("autoscaling", region_name=REGION).describe_auto_scaling_groups(AutoScalingGroupNames=[group])
    instances = found["AutoScalingGroups"][0]["Instances"]
    assert [one["InstanceId"] for one in instances if not one["ProtectedFromScaleIn"]] == [last]


def test_protection_is_changed_only_for_instances_in_service(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws(REGION)
    ids = [i.instance_id for i in aws.instances("c")]
    describe, changed = aws._groups.describe_auto_scaling_groups, []

    def with_a_newcomer(**asked: Any) -> Any:
        answer = describe(**asked)
        answer["AutoScalingGroups"][0]["Instances"][0]["LifecycleState"] = "Pending"
        return answer

    monkeypatch.setattr(aws._groups, "describe_auto_scaling_groups", with_a_newcomer)
    monkeypatch.setattr(aws._groups, "set_instance_protection", lambda **asked: changed.extend(asked["InstanceIds"]))
    newcomer = describe(AutoScalingGroupNames=[group])["AutoScalingGroups"][0]["Instances"][0]["InstanceId"]
    aws.set_protection(group, ids, protected=False)
    assert sorted(changed) == sorted(set(ids) - {newcomer})


def test_a_group_is_emptied_of_what_may_end(group: str) -> None:
    aws = Aws(REGION)
    aws.set_protection(group, [i.instance_id for i in aws.instances("c")], protected=False)
    aws.empty([group])
    assert aws.desired([group]) == {group: 0} and aws.instances("c") == ()


def activity(
    status: str, second: int, message: str | None = None, does: str = "Terminating EC2 instance: i-1"
) -> dict[str, Any]:
    said = {"StatusMessage": message} if message else {}
    return {
        "StatusCode": status,
        "StartTime": datetime.fromtimestamp(1000 + second, timezone.utc),
        "Cause": "a request",
        "Description": does,
        **said,
    }


def test_failed_launches_since_a_time_say_why(moto: str, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws(REGION)
    monkeypatch.setattr(
        aws._groups,
        "describe_scaling_activities",
        lambda **_: {
            "Activities": [
                activity("Failed", 9, "We currently do not have sufficient c5.large capacity"),
                activity("Successful", 8),
                activity("Cancelled", 7),
                activity("Failed", 1, "long ago"),
            ]
        },
    )
    assert aws.failures("g", since=1005) == ("We currently do not have sufficient c5.large capacity", "a request")


@pytest.mark.parametrize(
    ("status", "second", "counts"),
    [("PreInService", 9, False), ("Successful", 9, False), ("Failed", 9, True), ("Successful", 7, True)],
)
def test_a_zone_without_capacity_is_no_failure_where_the_group_launches_in_another_one(
    moto: str, monkeypatch: pytest.MonkeyPatch, status: str, second: int, counts: bool
) -> None:
    aws = Aws(REGION)
    launch = activity(status, second, "said", does="Launching a new EC2 instance: i-2")
    failure = activity("Failed", 8, "us-east-1b has not sufficient c5.large capacity")
    monkeypatch.setattr(aws._groups, "describe_scaling_activities", lambda **_: {"Activities": [launch, failure]})
    assert (failure["StatusMessage"] in aws.failures("g", since=1005)) is counts


def test_a_cloud_that_does_not_answer_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(AwsError, match="did not list the cluster's instances") as error:
        Aws(REGION).instances("c")
    assert "that the endpoint is up" in error.value.next_step


@pytest.mark.parametrize(
    ("code", "said", "is_off"),
    [
        ("RequestTimeTooSkewed", "The difference between the request time and the current time is too large.", True),
        ("RequestExpired", "Request has expired.", True),
        ("SignatureDoesNotMatch", "Signature expired: 20261123T000000Z is now earlier than 20261123T001500Z", True),
        ("InvalidSignatureException", "Signature not yet current: 20261123T003000Z is still later than now", True),
        ("SignatureDoesNotMatch", "The request signature we calculated does not match", False),
        ("AccessDenied", "User: ada is not authorized to perform: s3:PutObject", False),
    ],
)
def test_a_clock_that_is_off_is_told_with_what_to_do(code: str, said: str, is_off: bool) -> None:
    def refuse() -> None:
        raise ClientError({"Error": {"Code": code, "Message": said}}, "Call")

    with pytest.raises(AwsError, match="AWS did not take the lease") as refused:
        speak("take the lease", refuse)
    assert ("clock of this machine is off. Set it" in refused.value.next_step) is is_off
    assert said in refused.value.what


def test_an_answer_that_is_no_xml_is_an_error_of_aws() -> None:
    """A load balancer in front of EC2 may answer in plain text, which botocore does not try again."""

    def refuse() -> None:
        raise ResponseParserError("Unable to parse response (syntax error: line 1, column 0)")

    with pytest.raises(AwsError, match="AWS did not list the instances: Unable to parse response"):
        speak("list the instances", refuse)


def test_an_endpoint_that_takes_connections_and_never_answers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    patience: Any = aws.client_config()
    tries, backoff_s = patience.retries["total_max_attempts"], 1 + 2 + 4 + 8
    assert tries * (patience.connect_timeout + patience.read_timeout) + backoff_s <= 120
    hasty = Config(read_timeout=0.2, retries={"total_max_attempts": 2, "mode": "standard"})
    monkeypatch.setattr(aws, "client_config", lambda: patience.merge(hasty))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{mute.getsockname()[1]}")
        with pytest.raises(AwsError, match="did not list the cluster's instances"):
            Aws(REGION).instances("c")


def test_a_head_that_was_stopped_is_started_and_one_that_runs_or_is_gone_is_left_alone(group: str) -> None:
    aws, ec2 = Aws(REGION), boto3.client("ec2", region_name=REGION)
    worker = aws.instances("c")[0].instance_id
    slept: list[float] = []
    assert not aws.start_stopped(worker, slept.append)
    ec2.stop_instances(InstanceIds=[worker])
    assert worker not in {instance.instance_id for instance in aws.instances("c")}
    assert aws.start_stopped(worker, slept.append)
    assert worker in {instance.instance_id for instance in aws.instances("c")}
    assert not aws.start_stopped("i-00000000000000000", slept.append) and slept == []


class StoppingInstance:
    """EC2 with one instance that stops slowly, refuses to start it meanwhile, and takes three looks to start."""

    def __init__(self, looks: int, then: str = "stopped") -> None:
        self.looks, self.then, self.is_started = looks, then, False

    @property
    def state(self) -> str:
        if self.is_started:
            return "pending" if self.looks > -3 else "running"
        return "stopping" if self.looks > 0 else self.then

    def describe_instances(self, **_: object) -> dict[str, Any]:
        return {"Reservations": [{"Instances": [{"State": {"Name": self.state}}]}]}

    def start_instances(self, **_: object) -> None:
        if self.state != "stopped":
            raise ClientError({"Error": {"Code": "IncorrectInstanceState"}}, "StartInstances")
        self.is_started = True

    def wait(self, seconds: float) -> None:
        self.looks -= 1


@pytest.mark.parametrize(("then", "is_started"), [("stopped", True), ("terminated", False)])
def test_a_head_that_is_still_stopping_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, then: str, is_started: bool
) -> None:
    aws, ec2 = Aws(REGION), StoppingInstance(looks=3, then=then)
    monkeypatch.setattr(aws, "_ec2", ec2)
    assert aws.start_stopped("i-1", ec2.wait) is is_started
    assert ec2.is_started is is_started
    assert ec2.state == ("running" if is_started else "terminated")


def test_a_head_that_never_stops_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    aws, ec2 = Aws(REGION), StoppingInstance(looks=1000)
    monkeypatch.setattr(aws, "_ec2", ec2)
    with pytest.raises(AwsError, match="i-1 has been stopping for 300 s"):
        aws.start_stopped("i-1", ec2.wait)
    assert not ec2.is_started
