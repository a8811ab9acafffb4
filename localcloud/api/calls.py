"""Which actions of AWS's API were called, by the names that IAM policies give them."""

from __future__ import annotations

import threading

from localcloud.api.iam.requested import ApiRequest
from localcloud.api.iam.resources import questions_of


class Calls:
    """The calls that were made with one access key: actions with their resources. An unknown resource is empty."""

    def __init__(self, access_key_id: str) -> None:
        self._access_key_id, self._lock = access_key_id, threading.Lock()
        self._made: set[tuple[str, str]] = set()

    def add(self, request: ApiRequest, access_key_id: str) -> None:
        """Notes a request that was let pass, if this key has signed it."""
        if access_key_id == self._access_key_id:
            asked = {(question.action, question.resource) for question in questions_of(request)}
            with self._lock:
                self._made |= asked

    def made(self) -> list[dict[str, str]]:
        """Returns every call once."""
        with self._lock:
            return [{"action": action, "resource": resource} for action, resource in sorted(self._made)]
