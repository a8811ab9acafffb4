"""The joins and leaves of the training, gathered from what each rank says was the last one."""

from __future__ import annotations

from collections.abc import Iterable

from controller.domain import MembershipChange, Observation

SAME_CHANGE_S = 3.0
"""Ranks that stayed see one and the same change within this time of each other."""


def membership_changes(observations: Iterable[Observation], since: float) -> tuple[MembershipChange, ...]:
    """Returns the distinct changes since a time (seconds since the epoch), oldest first, with their longest pauses."""
    seen = [
        fact.last_change
        for observation in observations
        for fact in observation.facts
        if fact.last_change is not None and fact.last_change.at >= since
    ]
    return distinct_changes(seen)


def distinct_changes(seen: Iterable[MembershipChange]) -> tuple[MembershipChange, ...]:
    """Returns each change once, oldest first, with the longest pause that any rank reports."""
    distinct: list[MembershipChange] = []
    for change in sorted(seen, key=lambda change: change.at):
        same = next((i for i, other in enumerate(distinct) if _are_same(change, other)), None)
        if same is None:
            distinct.append(change)
        elif change.pause_s > distinct[same].pause_s:
            distinct[same] = change
    return tuple(distinct)


def _are_same(one: MembershipChange, other: MembershipChange) -> bool:
    sizes_match = (one.from_size, one.to_size) == (other.from_size, other.to_size)
    return sizes_match and abs(one.at - other.at) <= SAME_CHANGE_S
