"""Changing a class of moto."""

from __future__ import annotations


def replace(owner: type, name: str, value: object) -> None:
    """Sets an attribute of one of moto's classes, for this process."""
    setattr(owner, name, value)
