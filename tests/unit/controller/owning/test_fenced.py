"""Objects that only the latest owner of a cluster may write, in a bucket whose ETags are digests of the content."""

from __future__ import annotations

import gzip
import json

import boto3
import pytest

from controller.domain.errors import SupersededError
from controller.edges.bucket.objects import BucketObjects
from controller.owning import keys
from controller.owning.fenced import FencedWriter
from tests.unit.controller.edges.bucket.on_moto import REGION, bucket_on_moto, moto

__all__ = ["bucket_on_moto", "moto"]
STATE, JOURNAL = b'{"serial": 4, "lineage": "x"}', gzip.compress(b"journal", mtime=0)
MUTABLE = [
    (keys.TERRAFORM_STATE, STATE),
    (keys.CAPACITY, b'{"capacity": {}}'),
    (keys.RUNS, b"[]\n"),
    (keys.of_run("run", keys.JOURNAL_NAME), JOURNAL),
    (keys.of_run("run", "report.html"), b"<html></html>\n"),
    (keys.of_run("run", "centavo.log"), b"a line\n"),
]


@pytest.mark.parametrize(("key", "content"), MUTABLE)
def test_a_late_write_does_not_follow_the_same_content_of_a_later_owner(
    bucket_on_moto: BucketObjects, key: str, content: bytes
) -> None:
    first, second = (FencedWriter(bucket_on_moto, "unit", generation) for generation in (3, 4))
    first.write(key, content)
    second.write(key, content)
    with pytest.raises(SupersededError):
        first.write(key, content + b" ")
    second.write(key, content)
    kept = bucket_on_moto.read(key)
    assert kept is not None and kept.content == content and kept.generation == 4


def test_other_programs_read_what_was_written(bucket_on_moto: BucketObjects) -> None:
    for key, content in MUTABLE:
        FencedWriter(bucket_on_moto, "unit", 37).write(key, content)
    s3 = boto3.client("s3", region_name=REGION)
    raw = {key: s3.get_object(Bucket=bucket_on_moto.bucket, Key=key)["Body"].read() for key, _ in MUTABLE}
    assert json.loads(raw[keys.TERRAFORM_STATE]) == json.loads(STATE)
    assert gzip.decompress(raw[keys.of_run("run", keys.JOURNAL_NAME)]) == b"journal"
    assert raw[keys.of_run("run", "centavo.log")].splitlines()[0] == b"a line"
    assert [line for line in raw[keys.of_run("run", "report.html")].split() if line] == [b"<html></html>"]
