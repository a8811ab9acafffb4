"""A bucket in memory with conditional writes, a clock of its own, and troubles."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import md5

from controller.domain.errors import AwsError
from controller.domain.lease import Claim, HeadEnding, LeaseHolder, Place, SwitchSettings
from controller.edges.bucket.objects import ChangedError, Kept

NOW = 1_800_000_000.0
SWITCH = SwitchSettings(
    lease_s=100.0, ended_s=200.0, stalled_s=300.0, worker_s=400.0, reaper_s=500.0, head=HeadEnding.STOP
)


class BucketInMemory:
    """Objects as S3 keeps them: an ETag is the MD5 of the content, and no number of the version.

    Attributes:
        now: The bucket's own clock, which is also the monotonic clock of whoever uses it.
        is_reachable: Whether anybody can speak to it.
        loses_answers: How many of the next writes arrive, and their answers do not.
        before_write: Is called before each write arrives.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.is_reachable = True
        self.loses_answers = 0
        self.before_write: Callable[[str], None] = lambda key: None
        self.kept: dict[str, tuple[bytes, str, float, int]] = {}
        self.writes: list[str] = []

    def read(self, key: str) -> Kept | None:
        self._speak()
        if key not in self.kept:
            return None
        content, etag, at, generation = self.kept[key]
        return Kept(content, etag, self.now - at, generation)

    def changed(self, key: str, etag: str | None) -> Kept | None:
        found = self.read(key)
        return None if found is None or found.etag == etag else found

    def head(self, key: str) -> Kept | None:
        return self.read(key)

    def remove_others(self, prefix: str, key: str) -> None:
        self._speak()
        self.kept = {name: one for name, one in self.kept.items() if name == key or not name.startswith(prefix)}

    def write(self, key: str, content: bytes, *, follows: str | None, generation: int) -> str:
        self._speak()
        self.before_write(key)
        etag = self.kept[key][1] if key in self.kept else None
        if etag != follows:
            raise ChangedError
        self.put(key, content, generation)
        if self.loses_answers:
            self.loses_answers -= 1
            raise ChangedError  # botocore sends the request again, which then finds its own version
        return self.kept[key][1]

    def put(self, key: str, content: bytes, generation: int = 0) -> None:
        """Writes as somebody who asks nobody."""
        self.kept[key] = (content, f'"{md5(content).hexdigest()}"', self.now, generation)
        self.writes.append(key)

    def elapsed(self) -> float:
        return self.now

    def _speak(self) -> None:
        if not self.is_reachable:
            raise AwsError("AWS did not answer: the endpoint can't be reached")


def holder(name: str, checkout: str | None = None, host: str = "laptop") -> LeaseHolder:
    return LeaseHolder(name, host, "ada", 7, "centavo optimize", Place.MACHINE, checkout or f"checkout of {name}")


def claim(name: str, checkout: str | None = None, host: str = "laptop") -> Claim:
    return Claim("centavo-test", "test", holder(name, checkout, host), SWITCH)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Waits for what a thread does."""
    while not is_so():
        time.sleep(0.002)
