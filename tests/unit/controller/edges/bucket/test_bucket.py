"""Conditional writes and finding a bucket, against moto's server."""

from __future__ import annotations

import gzip
import hashlib
import time
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from controller.domain.errors import AwsError, ConfigError
from controller.edges.bucket import objects as edge
from controller.edges.bucket.find import _cluster_of, find_bucket
from controller.edges.bucket.objects import BucketObjects, ChangedError
from controller.supply.boot_bundle import bundle_key
from tests.unit.controller.edges.bucket.on_moto import REGION, bucket_on_moto, make_bucket, moto

__all__ = ["bucket_on_moto", "moto"]


def test_a_write_follows_exactly_the_version_that_it_names(bucket_on_moto: BucketObjects) -> None:
    one = bucket_on_moto.write("k", b"one", follows=None, generation=3)
    with pytest.raises(ChangedError):
        bucket_on_moto.write("k", b"another", follows=None, generation=3)
    two = bucket_on_moto.write("k", b"two", follows=one, generation=4)
    with pytest.raises(ChangedError):
        bucket_on_moto.write("k", b"late", follows=one, generation=3)
    with pytest.raises(ChangedError):
        bucket_on_moto.write("gone", b"x", follows=one, generation=3)
    kept = bucket_on_moto.read("k")
    assert kept is not None and (kept.content, kept.etag, kept.generation) == (b"two", two, 4)
    assert bucket_on_moto.changed("k", two) is None
    changed = bucket_on_moto.changed("k", one)
    assert changed is not None and changed.content == b"two"
    head = bucket_on_moto.head("k")
    assert head is not None and (head.content, head.etag, head.generation) == (b"", two, 4)
    assert bucket_on_moto.read("none") is None and bucket_on_moto.changed("none", one) is None


def test_a_bundle_lies_in_the_bucket_byte_for_byte_since_nodes_check_its_digest(bucket_on_moto: BucketObjects) -> None:
    content = gzip.compress(b"a bundle")
    key = bundle_key(hashlib.sha256(content).hexdigest())
    bucket_on_moto.write(key, content, follows=None, generation=3)
    kept = boto3.client("s3", region_name=REGION).get_object(Bucket=bucket_on_moto.bucket, Key=key)["Body"].read()
    assert kept == content


def test_the_age_is_what_the_clock_of_s3_says(bucket_on_moto: BucketObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket_on_moto.write("k", b"x", follows=None, generation=1)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    kept = bucket_on_moto.read("k")
    assert kept is not None and 0 <= kept.age_s < 60


def test_an_age_is_never_below_zero_and_metadata_of_others_is_no_generation() -> None:
    from datetime import datetime, timezone

    answer: dict[str, Any] = {
        "ETag": "e",
        "LastModified": datetime(2027, 1, 15, 8, 0, 30, tzinfo=timezone.utc),
        "Metadata": {"generation": "-x"},
        "ResponseMetadata": {"HTTPHeaders": {"date": "Fri, 15 Jan 2027 08:02:00 GMT"}},
    }
    assert (edge._kept("k", answer).age_s, edge._kept("k", answer).generation) == (90.0, 0)
    answer["ResponseMetadata"]["HTTPHeaders"]["date"] = "Fri, 15 Jan 2027 08:00:29 GMT"
    assert edge._kept("k", answer).age_s == 0.0


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "PutObject")


@pytest.mark.parametrize(("conflicts", "is_well"), [(4, True), (5, False)])
def test_a_conflict_is_tried_again_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, conflicts: int, is_well: bool
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(edge.time, "sleep", slept.append)
    answers = ["ConditionalRequestConflict"] * conflicts

    def call() -> str:
        if answers:
            raise refused(answers.pop())
        return "etag"

    if is_well:
        assert edge._conditionally(call) == "etag"
    else:
        with pytest.raises(ClientError):
            edge._conditionally(call)
    assert len(slept) == 4


def test_a_refused_write_is_no_lost_race(monkeypatch: pytest.MonkeyPatch) -> None:
    def call() -> str:
        raise refused("AccessDenied")

    with pytest.raises(ClientError):
        edge._conditionally(call)


def test_a_missing_bucket_is_an_error(moto: str) -> None:
    with pytest.raises(AwsError, match="NoSuchBucket"):
        BucketObjects(REGION, "none").write("k", b"x", follows=None, generation=1)


def test_the_bucket_is_found_by_its_name_and_the_tag_of_its_cluster(moto: str) -> None:
    make_bucket("mine-local-1", "mine-local")
    make_bucket("mine-untagged")
    make_bucket("else-1", "mine")
    assert find_bucket(REGION, "mine") is None
    make_bucket("mine-1", "mine")
    assert find_bucket(REGION, "mine") == "mine-1"
    make_bucket("mine-2", "mine")
    with pytest.raises(ConfigError, match=r"mine-1, mine-2\. Two clusters share a name"):
        find_bucket(REGION, "mine")


def test_a_bucket_that_was_deleted_a_moment_ago_does_not_count(moto: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bucket("mine-1", "mine")
    monkeypatch.setattr("controller.edges.bucket.find.NO_TAGS", ("NoSuchBucket",))
    assert find_bucket(REGION, "mine") == "mine-1"
    s3 = boto3.client("s3", region_name=REGION)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        s3.get_bucket_tagging(Bucket="mine-gone")
    assert _cluster_of(s3, "mine-gone") is None
