"""Uploading what a head has: its logs and the training's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from .bucket import Bucket
from .clients import AWS_ERRORS

MOST_BYTES = 20 * 2**20
"""Of a file. Of a longer one, its end is uploaded."""
MOST_FILES = 60
GIVE_UP_AFTER = 3
"""So many failures in a row, and the rest is left."""


def upload(bucket: Bucket, run: str, root: Path, tell: Callable[[str], None]) -> bool:
    """Uploads logs and results to `RUN/control/head/`, as far as the bucket takes them.

    Returns:
        Whether the bucket took all of them.
    """
    taken = failures = refused = 0
    for file in _files(root):
        try:
            body = _end_of(file)
            bucket.put(f"{run}/control/head/{file.relative_to(root)}", body)
            taken, failures = taken + 1, 0
        except (OSError, *AWS_ERRORS) as error:
            failures, refused = failures + 1, refused + 1
            tell(f"{file} was not uploaded: {error}")
            if failures == GIVE_UP_AFTER:
                break
    tell(f"uploaded {taken} files to s3://{bucket.name}/{run}/control/head/")
    return not refused


def _files(root: Path) -> Iterator[Path]:
    """Yields the results and the logs: no links, and nothing else that is no plain file."""
    found = [path for folder in ("results", "log") for path in sorted((root / folder).glob("*"))]
    plain = [path for path in found if path.is_file() and not path.is_symlink()]
    yield from plain[:MOST_FILES]


def _end_of(file: Path) -> bytes:
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - MOST_BYTES))
        return opened.read(MOST_BYTES)
