"""Which instances a group terminates when it shrinks."""

from __future__ import annotations

from collections.abc import Sequence

from moto.autoscaling.models import InstanceState

from localcloud.api.autoscaling.members import version_of


def in_order_of_termination(members: Sequence[InstanceState], policies: Sequence[str]) -> list[InstanceState]:
    """Returns the members that may be terminated, the first one to terminate first.

    Args:
        members: the members of a group. Those that are protected from scale in stay.
        policies: the group's termination policies, such as `Default` or `NewestInstance`.
    """
    candidates = [member for member in members if not member.protected_from_scale_in]
    candidates.sort(key=lambda member: member.instance.launch_time, reverse="NewestInstance" in policies)
    if {"Default", "OldestLaunchTemplate"} & set(policies):
        candidates.sort(key=version_of)  # the sort is stable: among one version the order by time stays
    return candidates
