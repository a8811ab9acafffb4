"""What ends a controller of the world, and what convicts it."""

from __future__ import annotations


class KilledError(BaseException):
    """The controller dies here, as by kill -9: nothing catches this."""


class InvariantError(AssertionError):
    """Something happened in the world that a controller must never let happen."""
