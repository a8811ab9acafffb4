"""The error answers of the services that localcloud serves itself."""

from __future__ import annotations


class ServiceError(Exception):
    """An error in AWS's JSON protocol: a code as the API names it, and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
