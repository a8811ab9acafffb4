"""The joins and leaves of the training, gathered from what each rank says was the last one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import median_low

from controller.domain import MembershipChange, Observation

SAME_CHANGE_S = 3.0
"""Ranks that stayed see one and the same change within this time of each other."""


def membership_changes(observations: Iterable[Observation], since: float) -> tuple[MembershipChange, ...]:
    """Returns the distinct changes since a time (seconds since the epoch), oldest first.

    A change counts where at least half of the ranks saw it that one observation has a change of. So one rank with wrong
    figures adds nothing.
    """
    seen = [change for observation in observations for change in _agreed(observation, since)]
    return distinct_changes(seen)


def distinct_changes(seen: Iterable[MembershipChange]) -> tuple[MembershipChange, ...]:
    """Returns each change once, oldest first, with the longest pause that was seen of it."""
    return tuple(max(group, key=lambda change: change.pause_s) for group in _grouped(seen))


def _agreed(observation: Observation, since: float) -> list[MembershipChange]:
    """Returns the changes of one observation that its ranks agree about, with the medians of their figures."""
    seen = [fact.last_change for fact in observation.facts if fact.last_change is not None]
    voices = [change for change in seen if change.at >= since]
    return [_median(group) for group in _grouped(voices) if 2 * len(group) >= len(voices)]


def _median(group: list[MembershipChange]) -> MembershipChange:
    return replace(
        group[0],
        at=median_low(change.at for change in group),
        pause_s=median_low(change.pause_s for change in group),
        steps_lost=median_low(change.steps_lost for change in group),
    )


def _grouped(seen: Iterable[MembershipChange]) -> list[list[MembershipChange]]:
    """Returns what was seen of each change, oldest first."""
    groups: list[list[MembershipChange]] = []
    for change in sorted(seen, key=lambda change: change.at):
        same = next((group for group in groups if _are_same(change, group[0])), None)
        if same is None:
            groups.append([change])
        else:
            same.append(change)
    return groups


def _are_same(one: MembershipChange, other: MembershipChange) -> bool:
    sizes_match = (one.from_size, one.to_size) == (other.from_size, other.to_size)
    return sizes_match and abs(one.at - other.at) <= SAME_CHANGE_S
