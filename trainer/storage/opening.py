"""Opening the storage that a setting names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

from trainer.storage.directory import DirectoryStorage
from trainer.storage.storage import Storage, StorageError


def open_storage(location: str) -> Storage:
    """Returns the storage at `location`, a directory or s3://bucket/prefix. Raises StorageError for anything else."""
    if "://" not in location:
        return DirectoryStorage(Path(location).expanduser())
    address = urlparse(location)
    if address.scheme != "s3" or not address.netloc:
        raise StorageError(f"storage must be a directory or s3://bucket/prefix, not {location}")
    # boto3 takes a while to import, and a training in a directory does not need it.
    from trainer.storage.s3 import S3Storage  # noqa: PLC0415

    return S3Storage(address.netloc, address.path.strip("/"))
