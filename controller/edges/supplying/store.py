"""The cluster's bucket, through boto3: objects, and presigned URLs by which the nodes read and write them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar

import boto3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import ClientError

from controller.domain.errors import AwsError
from controller.domain.reasons.moving import AwsFailed
from controller.edges.aws import client_config, speak

NODES_ENDPOINT = "CENTAVO_NODES_S3_URL"
"""The environment variable with S3's address as the nodes reach it, where that differs from this machine's."""
NOT_THERE = ("404", "NoSuchKey")
FRESH_FOR = timedelta(days=60)
"""An older object counts as missing, so that a run writes it anew: the bucket deletes what is thrice as old
(`terraform/modules/storage`)."""

Result = TypeVar("Result")


class Store:
    """Objects in buckets. Every method raises AwsError."""

    def __init__(self, region: str) -> None:
        signed = client_config().merge(Config(signature_version="s3v4"))
        self._s3: Any = boto3.client("s3", region_name=region, config=signed)
        endpoint = os.environ.get(NODES_ENDPOINT) or self._s3.meta.endpoint_url
        self._as_nodes: Any = boto3.client("s3", region_name=region, config=signed, endpoint_url=endpoint)

    def has(self, bucket: str, key: str) -> bool:
        """Returns whether the bucket has an object with this key, and has it for long enough."""

        def call() -> bool:
            try:
                return _is_fresh(self._s3.head_object(Bucket=bucket, Key=key))
            except ClientError as error:
                if error.response["Error"]["Code"] in NOT_THERE:
                    return False
                raise

        return speak(f"look for {key} in the bucket {bucket}", call)

    def read(self, bucket: str, key: str) -> bytes | None:
        """Returns the content of an object; None where there is none, or where the bucket will delete it."""

        def call() -> bytes | None:
            try:
                answer = self._s3.get_object(Bucket=bucket, Key=key)
                return bytes(answer["Body"].read()) if _is_fresh(answer) else None
            except ClientError as error:
                if error.response["Error"]["Code"] in NOT_THERE:
                    return None
                raise

        return speak(f"read {key} from the bucket {bucket}", call)

    def upload(self, bucket: str, key: str, path: Path) -> None:
        """Uploads a file of any size."""
        _transfer(
            f"take {path.name} as {key} into the bucket {bucket}", lambda: self._s3.upload_file(str(path), bucket, key)
        )

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Writes a small object."""
        speak(
            f"write {key} into the bucket {bucket}", lambda: self._s3.put_object(Bucket=bucket, Key=key, Body=content)
        )

    def url_to_read(self, bucket: str, key: str, valid_s: float) -> str:
        """Returns a URL by which whoever has it may read this object, for some time."""
        return self._url("get_object", bucket, key, valid_s)

    def url_to_write(self, bucket: str, key: str, valid_s: float) -> str:
        """Returns a URL by which whoever has it may write this object, for some time."""
        return self._url("put_object", bucket, key, valid_s)

    def _url(self, method: str, bucket: str, key: str, valid_s: float) -> str:
        return speak(
            f"sign a URL for {key}",
            lambda: str(
                self._as_nodes.generate_presigned_url(
                    method, Params={"Bucket": bucket, "Key": key}, ExpiresIn=int(valid_s)
                )
            ),
        )


def _transfer(purpose: str, call: Callable[[], None]) -> None:
    """Uploads. boto3's transfers raise errors of their own."""
    try:
        speak(purpose, call)
    except (Boto3Error, OSError) as error:
        raise AwsError(
            f"AWS did not {purpose}: {error}",
            "Check the credentials and the file, and that the endpoint is up.",
            reason=AwsFailed(purpose, str(error)),
        ) from error


def _is_fresh(answer: Mapping[str, Any]) -> bool:
    """Returns whether an object is young enough, by S3's own clocks."""
    now = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
    return bool(now - answer["LastModified"] < FRESH_FOR)
