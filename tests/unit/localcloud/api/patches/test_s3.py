"""Answers of S3 that Terraform waits for when it empties a bucket and when it reads the rules of a lifecycle."""

from __future__ import annotations

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from localcloud.api.patches.corrections.s3 import let_delete_markers_be_deleted, send_least_size_of_lifecycle_rules


@mock_aws
def test_a_bucket_whose_versioning_was_suspended_can_be_emptied() -> None:
    let_delete_markers_be_deleted()
    s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
    s3.create_bucket(Bucket="results")
    s3.put_bucket_versioning(Bucket="results", VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket="results", Key="model", Body=b"1")
    s3.delete_object(Bucket="results", Key="model")
    s3.put_bucket_versioning(Bucket="results", VersioningConfiguration={"Status": "Suspended"})
    listed = s3.list_object_versions(Bucket="results")
    versions = [*listed.get("Versions", []), *listed.get("DeleteMarkers", [])]
    assert len(versions) == 2
    objects = [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in versions]
    s3.delete_objects(Bucket="results", Delete={"Objects": objects})
    assert "Versions" not in s3.list_object_versions(Bucket="results")
    s3.delete_bucket(Bucket="results")


@mock_aws
def test_a_lifecycle_says_the_least_size_that_terraform_waits_for() -> None:
    send_least_size_of_lifecycle_rules()
    s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
    s3.create_bucket(Bucket="results")
    with pytest.raises(ClientError, match="NoSuchLifecycleConfiguration"):
        s3.get_bucket_lifecycle_configuration(Bucket="results")
    rule = {"ID": "old", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 30}}
    s3.put_bucket_lifecycle_configuration(Bucket="results", LifecycleConfiguration={"Rules": [rule]})
    answer = s3.get_bucket_lifecycle_configuration(Bucket="results")
    assert answer["TransitionDefaultMinimumObjectSize"] == "all_storage_classes_128K"
    assert answer["Rules"] == [rule]
