"""The objects of an S3 bucket, with their old versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import boto3

from controller.domain.errors import AwsError
from controller.edges.aws import client_config, speak

MOST_COUNTED = 10_000
BATCH = 1_000
"""As many versions as one DeleteObjects call takes (S3 API reference)."""


@dataclass(frozen=True)
class Contents:
    """How much a bucket holds; at `MOST_COUNTED` versions the count ends.

    Attributes:
        objects: Objects that have not been deleted or overwritten.
        old: Old versions, and marks of deleted objects.
    """

    objects: int = 0
    old: int = 0
    size_bytes: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether a bucket that holds this can be removed."""
        return not (self.objects or self.old)

    @property
    def is_more(self) -> bool:
        """Whether the bucket may hold more than was counted."""
        return self.objects + self.old >= MOST_COUNTED


class Bucket:
    """One bucket. Raises AwsError. Needs s3:ListBucketVersions, and to empty it s3:DeleteObject(Version).

    Args:
        region: The bucket's.
        name: The bucket's.
        is_own: Says of a key whether the object is Centavo's own, which nobody needs to keep.
    """

    def __init__(self, region: str, name: str, is_own: Callable[[str], bool] = lambda key: False) -> None:
        self.name, self._is_own = name, is_own
        self._s3: Any = boto3.client("s3", region_name=region, config=client_config())

    def contents(self) -> Contents:
        """Returns how much the bucket holds beside Centavo's own; nothing where there is no such bucket any more."""

        def call() -> Contents:
            theirs = (version for version in self._versions() if not self._is_own(version["Key"]))
            found = list(islice(theirs, MOST_COUNTED))
            current = [version for version in found if version.get("IsLatest") and "Size" in version]
            size_bytes = sum(int(version.get("Size", 0)) for version in found)
            return Contents(len(current), len(found) - len(current), size_bytes)

        try:
            return speak(f"list what the bucket {self.name} holds", call)
        except AwsError as error:
            if "NoSuchBucket" in error.what:
                return Contents()
            raise

    def empty(self) -> int:
        """Deletes every object and every old version. Returns how many there were."""
        return self._empty(self._versions())

    def empty_own(self) -> None:
        """Deletes what is Centavo's own, with its old versions."""
        self._empty(version for version in self._versions() if self._is_own(version["Key"]))

    def _empty(self, versions: Iterator[dict[str, Any]]) -> int:
        deleted = 0
        while batch := speak(f"list what the bucket {self.name} holds", lambda: list(islice(versions, BATCH))):
            self._delete(batch)
            deleted += len(batch)
        return deleted

    def _delete(self, versions: list[dict[str, Any]]) -> None:
        keys = [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in versions]

        def call() -> list[dict[str, Any]]:
            answer = self._s3.delete_objects(Bucket=self.name, Delete={"Objects": keys, "Quiet": True})
            return list(answer.get("Errors", ()))

        failed = speak(f"empty the bucket {self.name}", call)
        if failed:
            first = failed[0]
            raise AwsError(
                f"AWS did not delete {len(failed)} of {len(keys)} versions in the bucket {self.name}. The first is "
                f"{first.get('Key')}: {first.get('Code')}: {first.get('Message')}",
                "Nothing else was removed. Deleting versions needs the permission s3:DeleteObjectVersion.",
            )

    def _versions(self) -> Iterator[dict[str, Any]]:
        """Yields every version and every mark of a deleted object."""
        for page in self._s3.get_paginator("list_object_versions").paginate(Bucket=self.name):
            yield from page.get("Versions", ())
            yield from page.get("DeleteMarkers", ())
