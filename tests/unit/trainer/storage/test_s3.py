"""Large objects travel in parts, through connections that break, and are seen whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.response import StreamingBody
from moto import mock_aws

from trainer.storage import s3_stream, s3_upload
from trainer.storage.directory import DirectoryStorage
from trainer.storage.s3 import S3Storage
from trainer.storage.s3_stream import S3Stream
from trainer.storage.s3_upload import blocks_of
from trainer.storage.storage import Storage, StorageError

CONTENT = bytes(range(256)) * 50_000  # 12.8 MB


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_upload, "PART_BYTES", 5 << 20)
    monkeypatch.setattr(s3_stream, "FIRST_PAUSE_S", 0.0)


@pytest.fixture
def client() -> Iterator[Any]:
    with mock_aws():
        made = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        made.create_bucket(Bucket="bucket")
        yield made


@pytest.fixture(params=["directory", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, client: Any) -> Storage:
    return DirectoryStorage(tmp_path) if request.param == "directory" else S3Storage("bucket", "p", client)


def pieces(content: bytes, size: int = 1_000_003) -> Iterator[bytes]:
    return (content[start : start + size] for start in range(0, len(content), size))


@pytest.mark.parametrize("size", [0, 100, 5 << 20, len(CONTENT)])
def test_what_is_written_in_parts_is_read_from_beginning_to_end(storage: Storage, size: int) -> None:
    storage.write("a/b", pieces(CONTENT[:size]))
    assert storage.get("a/b") == CONTENT[:size]
    stream = storage.open("a/b")
    assert stream is not None
    with stream:
        assert stream.read() == CONTENT[:size]
    assert storage.open("a/c") is None


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(storage: Storage, client: Any) -> None:
    storage.put("a", b"old")

    def breaks() -> Iterator[bytes]:
        yield CONTENT
        raise KeyError("the source is gone")

    with pytest.raises(KeyError):
        storage.write("a", breaks())
    assert storage.get("a") == b"old"
    assert storage.names() == ["a"]
    assert "Uploads" not in client.list_multipart_uploads(Bucket="bucket")


def test_an_upload_that_s3_refuses_in_the_middle_is_told(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> Any:
        raise ClientError({"Error": {"Code": "SlowDown", "Message": "reduce your rate"}}, "UploadPart")

    storage = S3Storage("bucket", "p", client)
    with monkeypatch.context() as patched:
        patched.setattr(client, "upload_part", refuse)
        with pytest.raises(StorageError, match=r"s3://bucket/p/a cannot be written: .*reduce your rate"):
            storage.write("a", pieces(CONTENT))
    assert storage.names() == []


def test_blocks_have_the_size_asked_for() -> None:
    blocks = list(blocks_of([b"abc", memoryview(b"defgh"), b"", b"i"], 4))
    assert blocks == [b"abcd", b"efgh", b"i"]
    assert list(blocks_of([], 4)) == []


class Breaking:
    """A client whose connections break after so many bytes."""

    def __init__(self, content: bytes, after: int, breaks: int) -> None:
        self.content, self.after, self.breaks, self.etag = content, after, breaks, '"1"'
        self.asked: list[str] = []

    def get_object(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request.get("Range", ""))
        if request.get("IfMatch", self.etag) != self.etag:
            raise ClientError({"Error": {}, "ResponseMetadata": {"HTTPStatusCode": 412}}, "GetObject")
        start = int(request.get("Range", "bytes=0-")[6:-1])
        end = start + self.after if self.breaks else len(self.content)
        self.breaks = max(0, self.breaks - 1)
        rest = self.content[start:end]
        body = StreamingBody(io.BytesIO(rest), len(rest))
        return {"Body": body, "ETag": self.etag, "ContentLength": len(self.content) - start}


def read(client: Any) -> bytes:
    return io.BufferedReader(S3Stream(client, "b", "k", "s3://b/k", pause_s=0.0), 1000).read()


def test_a_connection_that_breaks_is_continued_where_it_broke() -> None:
    client = Breaking(CONTENT[:10_000], after=3_000, breaks=3)
    assert read(client) == CONTENT[:10_000]
    assert client.asked == ["", "bytes=3000-", "bytes=6000-", "bytes=9000-"]


def test_an_object_that_cannot_be_read_to_its_end_is_told() -> None:
    with pytest.raises(StorageError, match=r"s3://b/k cannot be read to its end: .*0 of 10,000 bytes"):
        read(Breaking(CONTENT[:10_000], after=0, breaks=99))


def test_an_object_that_was_replaced_meanwhile_is_not_mixed_with_the_new_one() -> None:
    client = Breaking(CONTENT[:10_000], after=3_000, breaks=1)
    stream = S3Stream(client, "b", "k", "s3://b/k", pause_s=0.0)
    client.etag = '"2"'
    with pytest.raises(StorageError, match="was replaced while it was read: begin again"):
        io.BufferedReader(stream, 1000).read()


def test_a_timeout_is_a_broken_connection() -> None:
    client = Breaking(CONTENT[:10_000], after=10_000, breaks=0)
    stream = S3Stream(client, "b", "k", "s3://b/k", pause_s=0.0)

    class Silent:
        def read(self, _: int) -> bytes:
            raise ReadTimeoutError(endpoint_url="s3")

        def close(self) -> None:
            pass

    stream._body = Silent()
    assert io.BufferedReader(stream, 1000).read() == CONTENT[:10_000]
