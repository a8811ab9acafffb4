"""A storage in S3. boto3 honours AWS_ENDPOINT_URL."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, BinaryIO

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from trainer.storage.s3_stream import S3Stream
from trainer.storage.s3_upload import upload
from trainer.storage.storage import StorageError, check_size

BUFFER_BYTES = 1 << 20
AWS_ERRORS = (BotoCoreError, ClientError, ResponseParserError)


class S3Storage:
    """The objects of a bucket under a prefix. S3 itself shows an object whole or not at all."""

    def __init__(self, bucket: str, prefix: str, client: Any = None) -> None:
        self._bucket, self._prefix = bucket, f"{prefix}/" if prefix else ""
        self._client = client or _s3_client()
        self.location = f"s3://{bucket}/{prefix}"

    def put(self, name: str, data: bytes) -> None:
        """Uploads the object. boto3 sends a checksum along."""
        self._call("written", name, lambda key: self._client.put_object(Bucket=self._bucket, Key=key, Body=data))

    def write(self, name: str, parts: Iterable[bytes | memoryview]) -> None:
        """Uploads the object part by part."""
        self._call("written", name, lambda key: upload(self._client, self._bucket, key, parts))

    def open(self, name: str) -> BinaryIO | None:
        """Opens the object. A connection that breaks is made again."""
        where = f"{self.location}/{name}"
        try:
            stream = S3Stream(self._client, self._bucket, self._prefix + name, where)
        except AWS_ERRORS as error:
            if _is_missing(error):
                return None
            raise StorageError(f"{where} cannot be read: {error}") from error
        return io.BufferedReader(stream, BUFFER_BYTES)

    def get(self, name: str, most_bytes: int | None = None) -> bytes | None:
        """Downloads the object."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)
            check_size(f"{self.location}/{name}", answer["ContentLength"], most_bytes)
            return bytes(answer["Body"].read())
        except StorageError:
            raise
        except Exception as error:
            if _is_missing(error):
                return None
            raise StorageError(f"{self.location}/{name} cannot be read: {error}") from error

    def names(self, prefix: str = "") -> list[str]:
        """Returns the keys under the prefix."""

        def list_all(key: str) -> list[str]:
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=key)
            return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

        keys: list[str] = self._call("listed", prefix, list_all)
        return sorted(key[len(self._prefix) :] for key in keys)

    def delete(self, name: str) -> None:
        """Deletes the object."""
        self._call("deleted", name, lambda key: self._client.delete_object(Bucket=self._bucket, Key=key))

    def _call(self, done: str, name: str, call: Any) -> Any:
        try:
            return call(self._prefix + name)
        except AWS_ERRORS as error:
            raise StorageError(f"{self.location}/{name} cannot be {done}: {error}") from error


def _is_missing(error: Exception) -> bool:
    return isinstance(error, ClientError) and error.response.get("Error", {}).get("Code") in ("NoSuchKey", "404")


def _s3_client() -> Any:
    # Path style: a bucket is not a host name of an endpoint on loopback.
    return boto3.client("s3", config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 5}))
