"""Objects of a bucket that several writers may want to write: each write says which version it follows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import boto3
from botocore.exceptions import ClientError

from controller.edges.aws import speak
from controller.edges.bucket.find import QUICK
from controller.edges.bucket.stamp import stamp_of

GENERATION = "generation"
"""The object's metadata with the generation of its writer's lease."""
CONFLICTS, BETWEEN_CONFLICTS_S = 5, 0.2
"""S3 answers 409 while another conditional write of the key is under way: the write is tried again so often."""
MISSING = ("404", "NoSuchKey")
UNCHANGED = ("304", "NotModified")
PASSED_BY = ("412", "PreconditionFailed", *MISSING)
CONFLICT = ("409", "ConditionalRequestConflict")


class ChangedError(Exception):
    """The object is not the version that a write was to follow: somebody else was faster."""


@dataclass(frozen=True)
class Kept:
    """A version of an object.

    Attributes:
        etag: Names the version.
        age_s: How long ago it was written, by S3's own clocks, which tell whole seconds.
        generation: The generation of its writer's lease; 0 where none is given.
    """

    content: bytes
    etag: str
    age_s: float
    generation: int


class Objects(Protocol):
    """The objects of one bucket. Every method raises AwsError."""

    def read(self, key: str) -> Kept | None: ...

    def changed(self, key: str, etag: str | None) -> Kept | None: ...

    def head(self, key: str) -> Kept | None: ...

    def write(self, key: str, content: bytes, *, follows: str | None, generation: int) -> str: ...

    def remove_others(self, prefix: str, key: str) -> None: ...


class BucketObjects:
    """The objects of one bucket, through boto3. Every method raises AwsError."""

    def __init__(self, region: str, bucket: str) -> None:
        self.bucket = bucket
        self._s3: Any = boto3.client("s3", region_name=region, config=QUICK)

    def read(self, key: str) -> Kept | None:
        """Returns an object; None where there is none."""
        return self._got(key, lambda: self._s3.get_object(Bucket=self.bucket, Key=key))

    def changed(self, key: str, etag: str | None) -> Kept | None:
        """Returns an object, unless it is still the version of this ETag or there is none: None then."""
        if etag is None:
            return self.read(key)
        return self._got(key, lambda: self._s3.get_object(Bucket=self.bucket, Key=key, IfNoneMatch=etag))

    def head(self, key: str) -> Kept | None:
        """Returns an object without its content; None where there is none."""
        return self._got(key, lambda: self._s3.head_object(Bucket=self.bucket, Key=key))

    def write(self, key: str, content: bytes, *, follows: str | None, generation: int) -> str:
        """Writes the next version of an object. Its ETag differs from that of any other generation's version.

        Args:
            key: The object's.
            content: All of it.
            follows: The ETag of the version that is replaced; None where there shall be none.
            generation: That of the writer's lease.

        Returns:
            The ETag of the new version.

        Raises:
            ChangedError: The object is another version by now, or was made or deleted.
            AwsError: The bucket can't be reached or written.
        """
        condition = {"IfNoneMatch": "*"} if follows is None else {"IfMatch": follows}

        def call() -> str:
            answer = self._s3.put_object(
                Bucket=self.bucket,
                Key=key,
                Body=content + stamp_of(key, generation),
                Metadata={GENERATION: str(generation)},
                **condition,
            )
            return str(answer["ETag"])

        return speak(f"write {key} into the bucket {self.bucket}", lambda: _conditionally(call))

    def remove_others(self, prefix: str, key: str) -> None:
        """Deletes the objects under a prefix, but for one."""

        def call() -> None:
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
            for other in (one["Key"] for page in pages for one in page.get("Contents", [])):
                if other != key:
                    self._s3.delete_object(Bucket=self.bucket, Key=other)

        speak(f"delete {prefix} in the bucket {self.bucket}", call)

    def _got(self, key: str, call: Callable[[], Any]) -> Kept | None:
        def answered() -> Kept | None:
            try:
                answer = call()
                return _kept(key, answer)
            except ClientError as error:
                if error.response["Error"]["Code"] in (*MISSING, *UNCHANGED):
                    return None
                raise

        return speak(f"read {key} from the bucket {self.bucket}", answered)


def _conditionally(call: Callable[[], str]) -> str:
    """Returns what a conditional write gives, tried again after conflicts. Raises ChangedError or ClientError."""
    for tries in range(1, CONFLICTS + 1):
        try:
            return call()
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in PASSED_BY:
                raise ChangedError from error
            if code not in CONFLICT or tries == CONFLICTS:
                raise
            time.sleep(BETWEEN_CONFLICTS_S)
    raise AssertionError("the last try returns or raises")


def _kept(key: str, answer: dict[str, Any]) -> Kept:
    body, written = answer.get("Body"), answer["LastModified"]
    told = answer.get("Metadata", {}).get(GENERATION, "")
    generation = int(told) if told.isdecimal() else 0
    return Kept(
        content=b"" if body is None else body.read().removesuffix(stamp_of(key, generation)),
        etag=answer["ETag"],
        age_s=max(0.0, (_answered_at(answer) - written).total_seconds()),
        generation=generation,
    )


def _answered_at(answer: dict[str, Any]) -> datetime:
    """Returns when S3 answered, by its own clock."""
    moment: datetime = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
    return moment
