"""Where checkpoints and results are kept: a directory, or s3://bucket/prefix (boto3; AWS_ENDPOINT_URL is honoured).

boto3 is imported where it is used: a training in a directory need not have it.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlparse


class StorageError(RuntimeError):
    """Something could not be kept or fetched; says what and where."""


class Storage(Protocol):
    """Named blobs. A name may have slashes. A blob appears whole or not at all."""

    location: str

    def put(self, name: str, data: bytes) -> None:
        """Keep `data` under `name`, in place of what was there."""
        ...

    def get(self, name: str) -> bytes | None:
        """What is kept under `name`, None when there is nothing."""
        ...

    def names(self, prefix: str = "") -> list[str]:
        """All names that begin with `prefix`, sorted."""
        ...

    def delete(self, name: str) -> None:
        """Forget `name`; no error when it is not there."""
        ...


def open_storage(location: str) -> Storage:
    """The storage at `location`. Raises StorageError for an address of another kind than s3."""
    if "://" not in location:
        return DirectoryStorage(Path(location).expanduser())
    address = urlparse(location)
    if address.scheme != "s3" or not address.netloc:
        raise StorageError(f"storage must be a directory or s3://bucket/prefix, not {location}")
    return S3Storage(address.netloc, address.path.strip("/"))


class DirectoryStorage:
    """A directory; every rank must see the same one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.location = str(directory)

    def put(self, name: str, data: bytes) -> None:
        """Write beside it, flush to the disk, rename."""
        path = self._directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error}") from error

    def get(self, name: str) -> bytes | None:
        """The file's bytes."""
        try:
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"{self._directory / name} cannot be read: {error}") from error

    def names(self, prefix: str = "") -> list[str]:
        """Files under the directory, by their path in it; those in the making are left out."""
        found = (
            path for path in self._directory.rglob("*") if path.is_file() and not path.name.startswith(".partial-")
        )
        return sorted(
            name for path in found if (name := path.relative_to(self._directory).as_posix()).startswith(prefix)
        )

    def delete(self, name: str) -> None:
        """Remove the file."""
        (self._directory / name).unlink(missing_ok=True)


class S3Storage:
    """Objects of a bucket under a prefix. S3 itself shows an object whole or not at all."""

    def __init__(self, bucket: str, prefix: str, client: Any = None) -> None:
        self._bucket, self._prefix = bucket, f"{prefix}/" if prefix else ""
        self._client = client or _s3_client()
        self.location = f"s3://{bucket}/{prefix}"

    def put(self, name: str, data: bytes) -> None:
        """Upload; boto3 sends its own checksum along."""
        self._call("written", name, lambda key: self._client.put_object(Bucket=self._bucket, Key=key, Body=data))

    def get(self, name: str) -> bytes | None:
        """Download."""
        from botocore.exceptions import ClientError

        try:
            return bytes(self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)["Body"].read())
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in ("NoSuchKey", "404"):
                return None
            raise StorageError(f"{self.location}/{name} cannot be read: {error}") from error
        except Exception as error:
            raise StorageError(f"{self.location}/{name} cannot be read: {error}") from error

    def names(self, prefix: str = "") -> list[str]:
        """Keys under the prefix, page by page."""

        def list_all(key: str) -> list[str]:
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=key)
            return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

        keys: list[str] = self._call("listed", prefix, list_all)
        return sorted(key[len(self._prefix) :] for key in keys)

    def delete(self, name: str) -> None:
        """Delete the object."""
        self._call("deleted", name, lambda key: self._client.delete_object(Bucket=self._bucket, Key=key))

    def _call(self, done: str, name: str, call: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call(self._prefix + name)
        except (BotoCoreError, ClientError) as error:
            raise StorageError(f"{self.location}/{name} cannot be {done}: {error}") from error


def _s3_client() -> Any:
    import boto3
    from botocore.config import Config

    # Path style: a bucket is no host name of an endpoint on loopback.
    return boto3.client("s3", config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 5}))
