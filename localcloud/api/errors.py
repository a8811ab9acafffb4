"""Error answers of localcloud's own services."""

from __future__ import annotations


class ServiceError(Exception):
    """An error in the JSON protocol of AWS: `code` as the API names it, and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
