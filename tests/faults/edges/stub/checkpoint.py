"""Checkpoints of the stub in S3: the number of the step, and nothing else."""

from __future__ import annotations

import threading
import time
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from .notes import note


class Checkpoints:
    """The checkpoints of one training."""

    def __init__(self, settings: dict[str, Any]) -> None:
        bucket, _, self._prefix = settings["storage"].removeprefix("s3://").partition("/")
        self._settings, self._bucket = settings, bucket
        config = Config(retries={"total_max_attempts": 1}, connect_timeout=3, read_timeout=5)
        self._s3 = boto3.client("s3", region_name="us-east-1", config=config)
        self._latest: int | None = None
        self._wanted = threading.Event()
        self._next = 0
        threading.Thread(target=self._write, daemon=True).start()

    def latest(self) -> int:
        """Returns the step of the last checkpoint, 0 where there is none. Waits for the storage."""
        while True:
            try:
                answer = self._s3.get_object(Bucket=self._bucket, Key=f"{self._prefix}/checkpoint")
                return int(answer["Body"].read())
            except ClientError as error:
                if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
                    return 0
                self._complain(error)
            except (BotoCoreError, OSError) as error:
                self._complain(error)

    def keep(self, step: int) -> None:
        """Keeps a checkpoint, while the training goes on."""
        self._next = step
        self._wanted.set()

    def keep_until_done(self, name: str, content: str) -> None:
        """Puts a file into the storage, however long that takes."""
        while not self._put(name, content):
            pass

    def _write(self) -> None:
        while self._wanted.wait():
            self._wanted.clear()
            if self._put("checkpoint", str(self._next)):
                note(self._settings, "checkpoint", step=self._next)

    def _put(self, name: str, content: str) -> bool:
        try:
            self._s3.put_object(Bucket=self._bucket, Key=f"{self._prefix}/{name}", Body=content.encode())
        except (BotoCoreError, ClientError, OSError) as error:
            self._complain(error)
            return False
        return True

    def _complain(self, error: Exception) -> None:
        note(self._settings, "storage-fails", why=str(error)[:200])
        time.sleep(1.0)
