"""A bucket with versions, and what is left of a cluster, against moto's server."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

from controller.domain.errors import AwsError
from controller.edges.account import bucket as edge
from controller.edges.account.bucket import Bucket, Contents
from controller.edges.account.left_over import left_over
from tests.unit.controller.edges.bucket.on_moto import REGION, moto

__all__ = ["moto"]


@pytest.fixture
def s3(moto: str) -> Any:
    s3 = boto3.client("s3", region_name=REGION)
    s3.create_bucket(Bucket="results")
    s3.put_bucket_versioning(Bucket="results", VersioningConfiguration={"Status": "Enabled"})
    return s3


def test_old_versions_and_marks_of_deleted_objects_count(s3: Any) -> None:
    bucket = Bucket(REGION, "results")
    assert bucket.contents() == Contents() and bucket.contents().is_empty
    for body in (b"old", b"newer"):
        s3.put_object(Bucket="results", Key="kept", Body=body)
    s3.put_object(Bucket="results", Key="gone", Body=b"x")
    s3.delete_object(Bucket="results", Key="gone")
    assert bucket.contents() == Contents(objects=1, old=3, size_bytes=9)
    s3.delete_object(Bucket="results", Key="kept")
    assert bucket.contents().objects == 0 and not bucket.contents().is_empty


def test_what_is_centavos_own_does_not_count_and_is_deleted_by_itself(s3: Any) -> None:
    bucket = Bucket(REGION, "results", lambda key: key.startswith("control/"))
    for body in (b"old", b"new"):
        s3.put_object(Bucket="results", Key="control/lease.json", Body=body)
    assert bucket.contents().is_empty and not Bucket(REGION, "results").contents().is_empty
    s3.put_object(Bucket="results", Key="kept", Body=b"x")
    bucket.empty_own()
    assert bucket.contents() == Bucket(REGION, "results").contents() == Contents(objects=1, size_bytes=1)


def test_an_emptied_bucket_can_be_removed(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "BATCH", 3)
    for number in range(5):
        s3.put_object(Bucket="results", Key=f"k{number % 3}", Body=b"x")
    s3.delete_object(Bucket="results", Key="k0")
    bucket = Bucket(REGION, "results")
    assert bucket.empty() == 6
    assert bucket.contents().is_empty
    s3.delete_bucket(Bucket="results")
    assert bucket.contents().is_empty, "a bucket that is gone holds nothing"


def test_a_version_that_may_not_be_deleted_is_named(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.put_object(Bucket="results", Key="kept", Body=b"x")
    bucket = Bucket(REGION, "results")
    refused = {"Errors": [{"Key": "kept", "Code": "AccessDenied", "Message": "no"}]}
    monkeypatch.setattr(bucket._s3, "delete_objects", lambda **_: refused)
    with pytest.raises(AwsError, match=r"1 of 1 versions .* kept: AccessDenied: no") as error:
        bucket.empty()
    assert "s3:DeleteObjectVersion" in error.value.next_step


def test_what_is_left_is_found_by_the_clusters_tag(moto: str) -> None:
    ec2 = boto3.client("ec2", region_name=REGION)
    tags = [{"Key": "centavo:cluster", "Value": "c"}]
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    instance = ec2.run_instances(
        ImageId=image, MinCount=1, MaxCount=1, TagSpecifications=[{"ResourceType": "instance", "Tags": tags}]
    )["Instances"][0]["InstanceId"]
    address = ec2.allocate_address(TagSpecifications=[{"ResourceType": "elastic-ip", "Tags": tags}])["PublicIp"]
    ec2.allocate_address()
    volume = ec2.create_volume(
        AvailabilityZone="us-east-1a", Size=8, TagSpecifications=[{"ResourceType": "volume", "Tags": tags}]
    )["VolumeId"]
    assert left_over(REGION, "c") == [f"instance {instance}", f"volume {volume}", f"address {address}"]
    assert left_over(REGION, "another") == []
    ec2.terminate_instances(InstanceIds=[instance])
    assert f"instance {instance}" not in left_over(REGION, "c")
