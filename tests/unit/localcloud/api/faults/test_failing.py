"""The faults of the API that `python -m localcloud fault` injects, as its clients see them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from tests.support.local_cloud import LocalCloud, command, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_faults_afterwards(cloud: LocalCloud) -> Iterator[None]:
    yield
    cloud.control("clear", {})


def run(cloud: LocalCloud, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command("fault", *arguments, state_dir=cloud.state_dir)


def fault(cloud: LocalCloud, *arguments: str) -> str:
    """Runs the command, and returns what it prints."""
    result = run(cloud, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_each_service_throttles_in_its_own_words(cloud: LocalCloud) -> None:
    fault(cloud, "throttle")
    for service, call, code in (
        ("ec2", "describe_instances", "RequestLimitExceeded"),
        ("autoscaling", "describe_auto_scaling_groups", "Throttling"),
        ("s3", "list_buckets", "SlowDown"),
        ("ssm", "describe_parameters", "ThrottlingException"),
    ):
        with pytest.raises(ClientError) as error:
            getattr(cloud.client(service), call)()
        assert error.value.response["Error"]["Code"] == code
    fault(cloud, "clear")
    cloud.ec2.describe_instances()


def test_one_service_throttles_as_often_as_asked(cloud: LocalCloud) -> None:
    assert "throttle ec2 2 times" in fault(cloud, "throttle", "ec2", "--times", "2")
    cloud.autoscaling.describe_auto_scaling_groups()
    for _ in range(2):
        with pytest.raises(ClientError, match="RequestLimitExceeded"):
            cloud.ec2.describe_instances()
    cloud.ec2.describe_instances()
    assert fault(cloud, "list") == "no faults\n"


def test_a_client_that_tries_again_gets_through(cloud: LocalCloud) -> None:
    fault(cloud, "throttle", "ec2", "--times", "1")
    answer = cloud.client("ec2", retries={"total_max_attempts": 3}).describe_instances()
    assert answer["ResponseMetadata"]["RetryAttempts"] == 1


def test_s3_is_down_and_the_other_services_are_not(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="down")
    fault(cloud, "s3-down")
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket="down", Key="a", Body=b"1")
    assert error.value.response["Error"]["Code"] == "ServiceUnavailable"
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    with pytest.raises(ClientError, match="503"):
        s3.head_object(Bucket="down", Key="a")
    cloud.ec2.describe_instances()
    fault(cloud, "clear")
    assert "Contents" not in s3.list_objects_v2(Bucket="down")


def test_a_slow_api_answers_late(cloud: LocalCloud) -> None:
    fault(cloud, "slow-api", "1.5")
    started = time.monotonic()
    cloud.ec2.describe_instances()
    assert time.monotonic() - started >= 1.5


def test_without_capacity_a_group_stays_short_until_the_fault_ends(cloud: LocalCloud) -> None:
    fault(cloud, "no-capacity", "m5.large")
    group = cloud.group(1, cloud.template("m5.large"))
    wait_until(lambda: cloud.activities(group), "an attempt")
    assert "do not have sufficient m5.large capacity" in cloud.activities(group)[0]["StatusMessage"]
    fault(cloud, "clear")
    cloud.in_service(group, 1)
    cloud.delete_group(group)


def test_a_group_replaces_the_instance_that_is_named(cloud: LocalCloud) -> None:
    group = cloud.group(2)
    first, second = cloud.in_service(group, 2)
    assert f"{group} replaces it" in fault(cloud, "replace", first)
    wait_until(lambda: cloud.state(first) == "terminated", "its end")
    members = cloud.in_service(group, 2)
    assert second in members
    assert first not in members
    cloud.delete_group(group)


def test_a_spot_interruption_ends_the_instance(cloud: LocalCloud) -> None:
    instance = cloud.run(InstanceMarketOptions={"MarketType": "spot"})
    assert f"{instance} is interrupted at 20" in fault(cloud, "interrupt", instance, "--in", "0")
    wait_until(lambda: cloud.state(instance) == "terminated", "the interruption")


def test_faults_are_listed_and_ended_one_by_one(cloud: LocalCloud) -> None:
    fault(cloud, "s3-down", "--for", "1000")
    fault(cloud, "slow-api", "0.001")
    listed = fault(cloud, "list").splitlines()
    assert len(listed) == 2
    number = listed[0].split()[0]
    assert listed[0].startswith(f"{number} s3-down (for ")
    assert fault(cloud, "clear", number).startswith(f"ended: {number} s3-down")
    assert len(fault(cloud, "list").splitlines()) == 1
    assert '"kind": "slow-api"' in fault(cloud, "list", "--json")


def test_the_same_fault_again_takes_the_place_of_the_first(cloud: LocalCloud) -> None:
    fault(cloud, "slow-api", "0.001")
    fault(cloud, "slow-api", "0.002")
    assert [line.split(maxsplit=1)[1] for line in fault(cloud, "list").splitlines()] == ["slow-api 0.002 s"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["hang-ssh", "i-none"], "no instance 'i-none' is pending or running; there are: i-"),
        (["partition", "i-none"], "no instance 'i-none'"),
        (["replace", "LONE"], "is in no Auto Scaling group"),
        (["partition", "LONE", "--from", "LONE"], "name another instance"),
        (["throttle", "ec3"], "there is no service 'ec3'; there are autoscaling, ec2"),
        (["no-capacity", "c5.tiny"], "there is no instance type 'c5.tiny'"),
        (["slow-api", "-1"], "seconds: Input should be greater than or equal to 0"),
        (["s3-down", "--for", "0"], "for_s: Input should be greater than 0"),
        (["throttle", "--times", "0"], "times: Input should be greater than or equal to 1"),
        (["clear", "4711"], "no such fault is in force; in force: none"),
        (["thaw", "LONE"], "no such fault is in force"),
        (["melt"], "choose from"),
    ],
)
def test_a_wrong_command_changes_nothing_and_says_what_there_is(
    cloud: LocalCloud, words: list[str], complaint: str
) -> None:
    lone = cloud.run()
    result = run(cloud, *(lone if word == "LONE" else word for word in words))
    assert result.returncode == 2
    assert complaint in result.stderr
    assert cloud.control("faults") == {"faults": []}
    cloud.ec2.terminate_instances(InstanceIds=[lone])
