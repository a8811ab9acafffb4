"""Writing an object of S3 part by part (a multipart upload), so that it never lies in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

PART_BYTES = 16 << 20
"""S3 takes parts of 5 MiB and more, and 10,000 of them: objects up to 156 GiB."""


def upload(client: Any, bucket: str, key: str, parts: Iterable[bytes | memoryview]) -> None:
    """Writes an object. It is seen whole or not at all; what a failed upload has left behind is removed.

    Args:
        client: boto3's client.
        bucket: The bucket.
        key: The object.
        parts: Its content, cut anywhere.

    Raises:
        BotoCoreError: S3 cannot be reached.
        ClientError: S3 refuses.
    """
    blocks = blocks_of(parts, PART_BYTES)
    first = next(blocks, b"")
    second = next(blocks, None)
    if second is None:
        client.put_object(Bucket=bucket, Key=key, Body=first)
        return
    at = {"Bucket": bucket, "Key": key, "UploadId": client.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]}
    try:
        sent = []
        for number, block in enumerate(_chained(first, second, blocks), start=1):
            answer = client.upload_part(**at, PartNumber=number, Body=block)
            sent.append({"PartNumber": number, "ETag": answer["ETag"]})
        client.complete_multipart_upload(**at, MultipartUpload={"Parts": sent})
    except BaseException:
        client.abort_multipart_upload(**at)
        raise


def blocks_of(parts: Iterable[bytes | memoryview], size: int) -> Iterator[bytes]:
    """Yields the same bytes in blocks of `size`. Only the last one may be shorter."""
    block = bytearray()
    for part in parts:
        view = memoryview(part)
        while view:
            taken = view[: size - len(block)]
            block += taken
            view = view[len(taken) :]
            if len(block) == size:
                yield bytes(block)
                block.clear()
    if block:
        yield bytes(block)


def _chained(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    del first
    yield second
    del second
    yield from rest
