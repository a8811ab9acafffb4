"""A bucket of moto's server, for tests."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from moto.moto_api._internal.models import moto_api_backend
from moto.server import ThreadedMotoServer

from controller.edges.bucket.objects import BucketObjects

REGION = "us-east-1"


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """AWS, served by moto at this URL."""
    moto_api_backend.reset()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    yield url
    server.stop()


def make_bucket(name: str, cluster: str | None = None) -> None:
    """Makes a bucket, with the tag of a cluster."""
    s3 = boto3.client("s3", region_name=REGION)
    s3.create_bucket(Bucket=name)
    if cluster is not None:
        s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": [{"Key": "centavo:cluster", "Value": cluster}]})


@pytest.fixture
def bucket_on_moto(moto: str) -> BucketObjects:
    """A bucket that is empty."""
    make_bucket("control")
    return BucketObjects(REGION, "control")
