"""Reading an object of S3 from its beginning to its end, through connections that break."""

from __future__ import annotations

import io
import logging
import time
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from trainer.storage.storage import StorageError

log = logging.getLogger(__name__)

TRIES = 5
FIRST_PAUSE_S = 0.5
BROKEN = (BotoCoreError, ClientError, OSError)
"""What a connection that breaks raises while it is read. urllib3's errors come as those of botocore."""


class S3Stream(io.RawIOBase):
    """The content of one object. Where the connection breaks, the rest is asked for again.

    Every request names the object's ETag, so that all parts are of the same object.

    Args:
        client: boto3's client.
        bucket: The bucket.
        key: The object.
        where: The object's name, for messages.
        pause_s: How long the first pause before another try is. Each further one is twice as long.
    """

    def __init__(self, client: Any, bucket: str, key: str, where: str, pause_s: float = FIRST_PAUSE_S) -> None:
        self._client, self._bucket, self._key, self._where, self._pause_s = client, bucket, key, where, pause_s
        first = client.get_object(Bucket=bucket, Key=key)
        self._body, self.etag, self.size = first["Body"], str(first["ETag"]), int(first["ContentLength"])
        self._position = 0

    def readable(self) -> bool:
        """Returns that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads the next bytes. Raises StorageError where the object cannot be read to its end."""
        for attempt in range(TRIES):
            try:
                data = self._body.read(len(buffer))
                if not data and self._position < self.size:
                    raise OSError(f"the connection ended after {self._position:,} of {self.size:,} bytes")
                break
            except BROKEN as error:
                self._reopen(error, attempt)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        """Closes the connection."""
        self._body.close()
        super().close()

    def _reopen(self, error: Exception, attempt: int) -> None:
        """Asks for the rest of the object. Raises StorageError at the last attempt, or where the object has changed."""
        log.warning("reading %s broke off at byte %d: %s", self._where, self._position, error)
        if attempt == TRIES - 1:
            raise StorageError(f"{self._where} cannot be read to its end: {error}") from error
        time.sleep(self._pause_s * 2**attempt)
        try:
            self._body.close()
            answer = self._client.get_object(
                Bucket=self._bucket, Key=self._key, IfMatch=self.etag, Range=f"bytes={self._position}-"
            )
            self._body = answer["Body"]
        except ClientError as refusal:
            if refusal.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 412:
                raise StorageError(f"{self._where} was replaced while it was read: begin again") from refusal
            log.warning("%s does not answer: %s", self._where, refusal)
        except (BotoCoreError, ResponseParserError) as failure:
            log.warning("%s does not answer: %s", self._where, failure)
