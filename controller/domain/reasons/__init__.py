"""Reasons as types: every decision, refusal and rollback carries one.

A module holds the reasons of one subject. `REASONS` has them all by code.
"""

from collections.abc import Mapping

from controller.domain.reasons.base import Reason, Said

REASONS: Mapping[str, type[Reason]] = {kind.code: kind for kind in (Said,)}

__all__ = ["REASONS", "Reason", "Said"]
